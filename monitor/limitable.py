"""What can have a limit, and whose it is; the config reads it without numpy."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

CLASSIFIER, JUDGE = "classifier", "judge"


class Limitable(NamedTuple):
    """A quantity that can have a limit.

    metric: Its name in `monitor.stats.METRICS`.
    subject: Whose it is. What is not the classifier's is never pooled with earlier rounds.
    complement: The metric that is 1 minus it; such a quantity is better when lower.
    """

    metric: str
    subject: str = CLASSIFIER
    complement: str | None = None


LIMITABLE: Mapping[str, Limitable] = MappingProxyType(
    {
        "precision": Limitable("precision"),
        "recall": Limitable("recall"),
        "f1": Limitable("f1"),
        "specificity": Limitable("specificity"),
        "fpr": Limitable("fpr", complement="specificity"),
        "npv": Limitable("npv"),
        "false_omission_rate": Limitable("false_omission_rate", complement="npv"),
        "prevalence": Limitable("prevalence"),
        "accuracy": Limitable("accuracy"),
        "judge_tpr": Limitable("recall", JUDGE),
        "judge_fpr": Limitable("fpr", JUDGE, complement="specificity"),
    }
)
"""All quantities by the name that people use in ``limits``."""

_INSTEAD = {
    "balanced_accuracy": "recall and specificity",
    "mcc": "precision and recall",
    "precision_gain": "precision",
    "recall_gain": "recall",
}


def limitable_of(subject: str) -> tuple[str, ...]:
    """Name the quantities of a subject."""
    return tuple(name for name, one in LIMITABLE.items() if one.subject == subject)


def subject_of(name: str) -> str:
    """Return whose a quantity is; of a name that is not in `LIMITABLE` the classifier's."""
    return LIMITABLE[name].subject if name in LIMITABLE else CLASSIFIER


def no_limit_text(name: str, among: Collection[str]) -> str:
    """Return why a quantity cannot have a limit, and which of some can.

    >>> no_limit_text("recal", ["recall", "precision"])
    "'recal' cannot have a limit; did you mean recall?"
    """
    if name in _INSTEAD:
        return (
            f"{name} cannot have a limit: the rates that keep it are not a convex set, so no "
            f"false-alarm rate can be promised; set limits on {_INSTEAD[name]} instead"
        )
    close = difflib.get_close_matches(name, among, n=1)
    hint = f"did you mean {close[0]}?" if close else f"use one of {', '.join(among)}"
    return f"{name!r} cannot have a limit; {hint}"
