"""What the codes of the statistics say in words, without a full stop; loads the statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from monitor.presentation.estimates import caution_text
from monitor.presentation.numbers import percent_text
from monitor.stats.core.reasons import (
    AuditAtChance,
    Contradiction,
    EmptyClass,
    LabelsToCome,
    NoEstimate,
    Undefined,
    UndefinedDraws,
    Unlabeled,
)
from monitor.stats.design.notes import BudgetShort, FloorsLowered, OutOfReach, PlanNote, Remark
from monitor.stats.estimation.posterior import MetricEstimate

_UNDEFINED = {
    Undefined.NOTHING_FLAGGED: "nothing was predicted positive (TP + FP = 0)",
    Undefined.NOTHING_PASSED: "nothing was predicted negative (FN + TN = 0)",
    Undefined.NO_POSITIVE: "nothing is actually positive (TP + FN = 0)",
    Undefined.NO_NEGATIVE: "nothing is actually negative (FP + TN = 0)",
    Undefined.NO_ITEM: "the window holds no item",
    Undefined.ONE_ACTUAL_CLASS: "only one actual class occurs (TP + FN = 0 or FP + TN = 0)",
    Undefined.NOTHING_FLAGGED_OR_POSITIVE: (
        "nothing was predicted positive and nothing is actually positive (TP = FP = FN = 0)"
    ),
    Undefined.NO_GAIN: "nothing positive was found, or nothing is negative (TP = 0 or FP + TN = 0)",
    Undefined.EMPTY_MARGIN: "a predicted or an actual class is empty (a row or column sum is 0)",
}
_CONTRADICTED = {
    Contradiction.AUDIT: (
        "the labels of this round contradict the checks: with the errors that people found, such "
        "labels are very unlikely"
    )
}
_REMARKS = {
    Remark.NOTHING_FLAGGED: "nothing was flagged, so precision and recall cannot be planned for",
    Remark.EVERYTHING_FLAGGED: "everything was flagged, so recall is 1 and needs no labels",
    Remark.WHOLE_WINDOW: "the budget covers every item of the window that can be labeled",
    Remark.NO_NARROWER: "more labels than this would not make the margins narrower",
    Remark.NO_PRIOR: "nothing is known of the rates, so no margin can be predicted",
}


def undefined_reason(why: Undefined) -> str:
    """Describe which cells of the matrix are 0."""
    return _UNDEFINED[why]


def no_estimate_reason(why: NoEstimate | None) -> str | None:
    """Describe why an estimate is missing; None if it is not.

    >>> no_estimate_reason(Unlabeled("passed", 9500))
    'none of the 9500 passed items is labeled'
    >>> no_estimate_reason(UndefinedDraws(Undefined.NO_POSITIVE, share=0.3, most=0.05))
    'nothing is actually positive (TP + FN = 0) in 30 % of the draws, more than 5 %'
    """
    match why:
        case UndefinedDraws():
            share = f"{percent_text(why.share, 2)} of the draws, more than {percent_text(why.most)}"
            return undefined_reason(why.why) + ("" if why.share == 1 else f" in {share}")
        case Unlabeled():
            return f"none of the {why.size} {why.predicted} items is labeled"
        case EmptyClass():
            return (
                f"the window holds no {why.predicted} item, so it carries no information about the "
                "classifier; see the window estimate"
            )
        case Contradiction() | LabelsToCome():
            return _unreliable_reason(why)
        case AuditAtChance():
            return (
                "labels are no better than chance with probability "
                f"{why.probability:.2f} by the checks ({why.positive_right} of {why.positive} "
                f"positive and {why.negative_right} of {why.negative} negative items labeled "
                "right), so nothing can be corrected; check more items"
            )
        case None:
            return None


def _unreliable_reason(why: Contradiction | LabelsToCome) -> str:
    if isinstance(why, Contradiction):
        return _CONTRADICTED[why]
    labels = f"{percent_text(why.share, 2)} of the positive labels are known yet"
    return f"only {labels}, so labeling.matures is too short"


def worded(estimate: MetricEstimate, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Give the fields of an estimate, its reason and its caution in words.

    ``names`` are other names of the predicted classes.
    """
    classes = () if estimate.caution is None else estimate.caution.classes
    if names is not None:
        classes = tuple(replace(each, predicted=names[each.predicted]) for each in classes)
    answers = {"reason": no_estimate_reason(estimate.reason), "caution": caution_text(classes)}
    return asdict(estimate) | answers


UNTESTED = " (taking the scores for probabilities, which no label has tested)"
"""After a probability that rests on scores alone."""


def plan_note(note: PlanNote) -> str:
    """Describe what a plan could not do as asked.

    >>> plan_note(OutOfReach("precision", 0.043, 0.01))
    'precision: even every item labeled leaves +-0.043, more than 0.01'
    >>> for part in plan_note(BudgetShort("recall", 0.05, 0.058, 0.124, 0.8, 1530)).split("; "):
    ...     print(part)
    recall: +-0.058 is expected, within +-0.05 with probability 0.12
    1,530 labels would make that 0.8
    """
    match note:
        case OutOfReach():
            leaves = f"even every item labeled leaves +-{note.width:.3f}, more than {note.margin}"
            return f"{note.metric}: {leaves}"
        case FloorsLowered():
            return (
                f"{note.budget} labels are fewer than the floors of all strata ask for "
                f"({note.floors}), so every stratum's floor was lowered alike"
            )
        case BudgetShort():
            return (
                f"{note.metric}: +-{note.expected:.3f} is expected, within +-{note.margin} with "
                f"probability {note.assured:.2f}; {note.needed:,} labels would make that "
                f"{note.assurance:g}{UNTESTED if note.by_scores else ''}"
            )
        case Remark():
            return _REMARKS[note]
