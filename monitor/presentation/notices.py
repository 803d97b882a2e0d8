"""What is unusual about a round, in a sentence without its full stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from monitor.domain.report import AgreementRow
from monitor.domain.settings import ThresholdTarget
from monitor.fixed_text import fixed_text, significant_text
from monitor.presentation.numbers import percent_text, range_text

if TYPE_CHECKING:
    from monitor.stats.core.counts import Interval
    from monitor.stats.drift.shift import WindowDistance

_DISTANCES = {
    "psi": "population stability index",
    "ks": "Kolmogorov-Smirnov distance of the scores",
}
_SURE = 0.99


def moved_sentence(unusual: Sequence[WindowDistance], flagged: tuple[float, float]) -> str:
    """State that a window holds other items than usual; ``flagged`` is the share now and before."""
    moves = "; ".join(_moved(move, *flagged) for move in unusual)
    return f"the window holds other items than usual: {moves}"


def _moved(move: WindowDistance, now: float, before: float) -> str:
    if move.kind in _DISTANCES:
        bar = f"where ordinary windows stay under {move.bar:.3f}"
        return f"{_DISTANCES[move.kind]} {move.value:.3f}, {bar}"
    return f"{percent_text(now)} of the items are flagged, before {percent_text(before)}"


def unexpected_sentence(metric: str, value: float, expected: Interval, level: float) -> str:
    """Return the sentence that labels found a metric outside of what was expected."""
    return (
        f"{metric} {fixed_text(value)}, as the labels of this round have it, lies outside "
        f"{fixed_text(expected.low)} to {fixed_text(expected.high)}, where {percent_text(level)} "
        "of rounds would fall by what was known before"
    )


def changed_sentence(predicted: str, probability: float, rate: float | None, usual: float) -> str:
    """State that a predicted class seems to have changed, and to which share of positives."""
    moved = ""
    if rate is not None:
        before = significant_text(usual)
        moved = f": {significant_text(rate)} of them are positive, before {before}"
    sure = "over 0.99" if probability > _SURE else f"{probability:.2f}"
    return (
        f"the {predicted} items seem to have changed just before this round (probability {sure}, "
        f"had it been as likely as not){moved}"
    )


def recurring_sentence(recurring: int, drawn: int) -> str:
    """State that evidence counts few items, since earlier rounds asked about the others."""
    return (
        f"earlier rounds asked about {recurring} of the {drawn} items of this round, so evidence "
        f"on limits counts {drawn - recurring} of them: an alert comes late or never"
    )


def disagreement_sentence(row: AgreementRow, alpha: float) -> str:
    """Return the sentence that people agree too little to conclude from their labels."""
    return (
        f"people label {row.disagreed} of {row.items} items differently (alpha "
        f"{alpha:.2f}; from 0.80 on labels are good to rely on, under 0.67 they are not): look "
        "at the instructions they are given, and at the items from labels export --disputed"
    )


def threshold_sentence(
    threshold: float, target: ThresholdTarget, p: float | None, *, rounds: int
) -> str:
    """State that labels are not sure that the threshold in use keeps its target."""
    goal = f"{target.metric} {target.value:g}"
    if p is None:
        return (
            f"threshold {threshold:g} is not tested for {goal}: a judge cuts the strata, items "
            "have no score, or all are flagged or all passed"
        )
    labels = "labels of this round" if rounds == 1 else last_rounds(rounds)
    command = f"pr-monitor threshold --{target.metric} {target.value:g}"
    return (
        f"threshold {threshold:g} is not allowed: the {labels} are not sure that it keeps {goal} "
        f"(p {significant_text(p, 2)}, allowed up to {1 - target.confidence:.3g}); {command}"
        f"{f' --rounds {rounds}' * (rounds > 1)} may have another"
    )


THIS_ROUND = "labels of this round"
"""By which labels scores are in the wrong order."""


def last_rounds(rounds: int) -> str:
    """Name the labels of the last rounds in the same way."""
    return f"labels of the last {rounds} rounds"


def inverted_sentence(labels: str, area: tuple[float, float, float]) -> str:
    """Return the sentence that higher scores mean positives less often, by which labels."""
    point, low, high = area
    return (
        f"by the {labels}, positives have lower scores than negatives: the area under the ROC "
        f"curve is {point:.2f} {range_text(low, high, 2)}, where chance gives 0.5 (does the "
        "score mean the other class?)"
    )


def disputed_sentence(
    monitor: str,
    metric: str,
    limit: float,
    *,
    disputed: int,
    answered: int,
    ways: tuple[float, float],
) -> str:
    """State that a limit hangs on how disputed items are counted, and which values it then has."""
    return (
        f"people contradict each other on {disputed} of {answered} answered items: by the way "
        f"these are counted {metric} is {ways[0]:.2f} or {ways[1]:.2f}, and its limit is "
        f"{limit:g}; have somebody decide them "
        f"(pr-monitor labels export --disputed -m {monitor})"
    )
