"""Precision and recall of a binary classifier in production, from few human labels.

``estimate`` works on one labeled matrix, ``evaluate`` on labeled items, ``evaluate_judge`` on a
judge's verdicts beside labels, ``plan`` returns how many labels a round needs, ``history`` reads a
monitor's rounds, ``compare`` asks what another threshold or classifier would do. Each returns a
result: printed, it reads as the command; a notebook shows it as tables; ``to_frame()`` and
``to_dict()`` convert it, and ``plot()`` draws it, except a plan. The functions load what they need
when called: importing `monitor` or `monitor.stats` stays cheap. They raise ``ConfigRefused``,
``InputRefused`` or ``TryLater``, each with a message that says what to do.
"""

from __future__ import annotations

from monitor.api import compare, estimate, evaluate, evaluate_judge, history, plan
from monitor.domain.errors import ConfigRefused, InputRefused, TryLater

__all__ = [
    "ConfigRefused",
    "InputRefused",
    "TryLater",
    "compare",
    "estimate",
    "evaluate",
    "evaluate_judge",
    "history",
    "plan",
]


def __dir__() -> list[str]:
    return [*__all__]
