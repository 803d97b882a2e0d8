"""Why precision is not what it was: rarer positives, a worse classifier, or only noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.report import CauseRow
from monitor.stats.core.counts import Counts, Interval
from monitor.stats.core.draws import draw, round_posterior
from monitor.stats.drift.attribution import PrecisionChange, Working, precision_change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.rounds.estimation.tally import Tally

POINTS = 2**11
"""An explanation needs two digits."""


def precision_cause(now: Tally, earlier: Sequence[Tally], *, seed: int) -> CauseRow | None:
    """Explain precision in this round alone against all earlier rounds of its history, pooled.

    None where there is no earlier round, or a predicted class is empty or without a label on
    either side.
    """
    if not earlier:
        return None
    before, after = pooled([tally.counts for tally in earlier]), now.counts
    if not (_tells(before) and _tells(after)):
        return None
    works = [
        Working.of_draws(
            draw(round_posterior(counts), seed=seed + i, points=POINTS, size=counts.size),
            counts.size,
        )
        for i, counts in enumerate((before, after))
    ]
    return _row(precision_change(*works), len(earlier))


def pooled(rounds: Sequence[Counts]) -> Counts:
    """Take rounds with the same strata as one."""
    return Counts.of_arrays(
        size=np.sum([counts.size for counts in rounds], axis=0),
        labeled=np.sum([counts.labeled for counts in rounds], axis=0),
        positive=np.sum([counts.positive for counts in rounds], axis=0),
        is_flagged=rounds[0].is_flagged,
    )


def _tells(counts: Counts) -> bool:
    return all(counts.labeled[chosen].any() for chosen in (counts.is_flagged, ~counts.is_flagged))


def _row(found: PrecisionChange, rounds: int) -> CauseRow:
    return CauseRow(
        rounds=rounds,
        before=_triple(found.before),
        after=_triple(found.after),
        prevalence_before=_triple(found.prevalence_before),
        prevalence_after=_triple(found.prevalence_after),
        change=_triple(found.change),
        by_prevalence=_triple(found.by_prevalence),
        by_classifier=_triple(found.by_classifier),
        level=found.level,
        sentence=cause_sentence(found, rounds),
    )


def cause_sentence(found: PrecisionChange, rounds: int) -> str:
    """Say it for people, without a full stop, and say what is within noise."""
    before = "the round before" if rounds == 1 else f"the {rounds} rounds before"
    was, now = f"{found.before.point:.2f}", f"{found.after.point:.2f}"
    if is_noise(found.change):
        return (
            f"precision {now} in this round alone and {was} in {before} differ by no more than "
            f"noise ({_span(found.change)})"
        )
    fell = found.change.point < 0
    eta = f"{_percent(found.prevalence_before.point)} -> {_percent(found.prevalence_after.point)}"
    direction = "worse" if found.by_classifier.point < 0 else "better"
    return (
        f"precision {'fell' if fell else 'rose'} from {was} in {before} to {now} in this round "
        f"alone: prevalence {eta} explains {_part(found.by_prevalence)}, a {direction} classifier "
        f"(TPR, FPR) {_part(found.by_classifier)}"
    )


def is_noise(interval: Interval) -> bool:
    """Whether nothing may have happened at all."""
    return interval.low <= 0 <= interval.high


def _part(interval: Interval) -> str:
    noise = ", within noise" if is_noise(interval) else ""
    return f"{_signed(interval.point)} ({_signed(interval.low)} to {_signed(interval.high)}{noise})"


def _span(interval: Interval) -> str:
    return f"{_signed(interval.point)}, {_signed(interval.low)} to {_signed(interval.high)}"


def _signed(value: float) -> str:
    """Say two digits with their sign; 0 has none."""
    text = f"{value:+.2f}"
    return text[1:] if float(text) == 0 else text


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _triple(interval: Interval) -> tuple[float, float, float]:
    point, low, high = (round(each, 6) for each in (interval.point, interval.low, interval.high))
    return point, low, high
