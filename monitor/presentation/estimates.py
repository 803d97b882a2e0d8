"""What is to be known of estimates: why there is none, and which few labels decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from monitor.presentation.numbers import NOT_ESTIMABLE

if TYPE_CHECKING:
    from collections.abc import Iterable


BASES = {"round": "this round alone", "pooled": "with earlier rounds"}
"""What an estimate rests on, as tables head it."""


class Reasoned(Protocol):
    """An estimate that may have no value."""

    @property
    def reason(self) -> str | None:
        """Why it has none."""


def reason_text(found: Reasoned) -> str:
    """Say why there is no number."""
    return f"{NOT_ESTIMABLE}: {found.reason or 'no reason was kept'}"


def caution_lines(cautions: Iterable[tuple[str, str | None]]) -> list[str]:
    """Say of which metrics a caution holds, those of one caution together.

    >>> caution_lines([("recall", "few labels decide this"), ("f1", "few labels decide this")])
    ['recall, f1: few labels decide this']
    """
    found: dict[str, dict[str, None]] = {}
    for metric, caution in cautions:
        if caution is not None:
            found.setdefault(caution, {})[metric] = None
    return [f"{', '.join(metrics)}: {caution}" for caution, metrics in found.items()]
