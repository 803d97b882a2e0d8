"""What a plan or a simulation goes by, in a phrase."""

from __future__ import annotations

from collections.abc import Mapping

from monitor.stats.design.planning import SHIFT, STRETCH, PlausibleScores
from monitor.stats.detection.scenario import Misses

PLAN_SOURCES = {
    "rates": "the values given",
    "reference": "the reference matrix, spread evenly over the bands",
    "scores": "the scores alone, trusted little until a round is labeled",
    "verdicts": "the scores and the judge's verdicts, trusted little until a round is labeled",
    "history": "the labels of the last history, cell by cell",
    "nothing": "nothing; half of the labels for each predicted class",
}
"""Where the rates of a plan come from, by ``PriorRates.source``; ``verdicts`` are scores of strata
that verdicts cut."""


def earlier_rounds_text(rounds: int) -> str:
    """Return how many earlier rounds a plan rests on; on none, it is the reference.

    >>> earlier_rounds_text(0), earlier_rounds_text(1), earlier_rounds_text(7)
    ('the labeled reference', 'one earlier round', '7 earlier rounds')
    """
    if rounds == 0:
        return "the labeled reference"
    return "one earlier round" if rounds == 1 else f"{rounds} earlier rounds"


def shown_estimates_text(basis: str) -> str:
    """Return what a simulation goes by that starts from the estimates of a closed round."""
    return f"{basis}, at the estimates that status shows"


def assured_text(
    margins: Mapping[str, float], requested: Mapping[str, float], assured: Mapping[str, float]
) -> str:
    """Report which half-widths are expected, and how sure it is that they are within their margins.

    >>> assured_text({"recall": 0.046, "precision": 0.03}, {"recall": 0.05}, {"recall": 0.812})
    'recall +-0.046 expected, within +-0.05 with probability 0.81'
    """
    return ", ".join(
        f"{metric} +-{margins[metric]:.3f} expected, within +-{margin:g} with probability "
        f"{assured[metric]:.2f}"
        for metric, margin in requested.items()
        if metric in assured
    )


def unanswered_text(recall_lost: float) -> str:
    """Return what one answer that cannot be given costs, before anybody is asked.

    >>> unanswered_text(0.0491)
    'each passed item answered "cannot tell" lowers the low end of recall by about 4.9 points'
    """
    return (
        'each passed item answered "cannot tell" lowers the low end of recall by about '
        f"{100 * recall_lost:.2g} points"
    )


def one_more_text(half_width: float) -> str:
    """Return what one rare answer more would do to a plan, however likely the margins are.

    >>> one_more_text(0.0881)
    'One missed positive more, where a label stands for most items, makes recall +-8.8 %.'
    """
    share = f"+-{100 * half_width:.1f} %"
    return f"One missed positive more, where a label stands for most items, makes recall {share}."


def plausible_text(plausible: PlausibleScores, assured: Mapping[str, float]) -> str:
    """Describe what a plan by scores assumes, and what it may come to where that is wrong.

    >>> from monitor.stats.design.planning import PlausibleScores
    >>> text = plausible_text(PlausibleScores({"recall": (0.0, 1.0)}, (294, 3165)), {"recall": 0.8})
    >>> text.split(": ")[1]
    'recall 0.00 to 1.00; 294 to 3,165 labels are needed.'
    """
    low, high = plausible.needed
    spans = [
        f"{metric} {' to '.join(f'{end:.2f}' for end in plausible.assured[metric])}"
        for metric in assured
        if metric in plausible.assured
    ]
    shares = f"{', '.join(spans)}; " if spans else ""
    return (
        "This assumes that the scores are probabilities, which no label has tested. With scores "
        f"off by {SHIFT:g} log odds either way, {STRETCH:g} times too sure or unsure, or of no use "
        f"within a class: {shares}{low:,} to {high:,} labels are needed."
    )


def smallest_drop_texts(drops: Mapping[str, Mapping[Misses, float | None]]) -> list[str]:
    """Describe which drops are found, by metric and by where the misses of a fall of recall appear.

    >>> smallest_drop_texts({"precision": {"in_proportion": None}})
    ['no drop of precision']
    >>> smallest_drop_texts({"recall": {"in_proportion": 0.08, "in_lowest_band": 0.21}})
    ['recall down by 0.08 (0.21 if all new misses lie in the lowest band)']
    """
    return [_smallest_drop_text(metric, by_misses) for metric, by_misses in drops.items()]


def _smallest_drop_text(metric: str, by_misses: Mapping[Misses, float | None]) -> str:
    drop = by_misses["in_proportion"]
    text = f"no drop of {metric}" if drop is None else f"{metric} down by {drop:.2f}"
    if "in_lowest_band" not in by_misses:
        return text
    lowest = by_misses["in_lowest_band"]
    lowest_text = "none" if lowest is None else f"{lowest:.2f}"
    return f"{text} ({lowest_text} if all new misses lie in the lowest band)"
