"""Why precision is not what it was, in a sentence without its full stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.presentation.numbers import percent_text, signed_text

if TYPE_CHECKING:
    from monitor.domain.report import CauseRow
    from monitor.stats.core.counts import Interval
    from monitor.stats.drift.attribution import PrecisionChange


def cause_sentence(change: PrecisionChange, rounds: int) -> str:
    """Describe why precision changed, and what of it is within noise."""
    was, now = f"{change.before.point:.2f}", f"{change.after.point:.2f}"
    if _is_noise(change.change):
        ends = (change.change.point, change.change.low, change.change.high)
        point, low, high = map(signed_text, ends)
        return (
            f"precision {now} in this round alone and {was} in {_before(rounds)} differ by no more "
            f"than noise ({point}, {low} to {high})"
        )
    fell = change.change.point < 0
    eta = (
        f"{percent_text(change.prevalence_before.point, 2)} -> "
        f"{percent_text(change.prevalence_after.point, 2)}"
    )
    direction = "worse" if change.by_classifier.point < 0 else "better"
    return (
        f"precision {'fell' if fell else 'rose'} from {was} in {_before(rounds)} to {now} in this "
        f"round alone: prevalence {eta} explains {_part(change.by_prevalence)}, a {direction} "
        f"classifier (TPR, FPR) {_part(change.by_classifier)}"
    )


def cause_near_alert(cause: CauseRow) -> str:
    """Describe it where precision is under its limit.

    Rounds that differ by no more than chance are then no comfort: precision was low before.
    """
    if not cause.is_noise:
        return cause.sentence
    return (
        f"it did not fall just now: this round alone has {cause.after[0]:.2f} and "
        f"{_before(cause.rounds)} {cause.before[0]:.2f}, a difference within noise, so what is "
        "wrong began earlier or grows slowly, and the alert rests on all these rounds together"
    )


def _before(rounds: int) -> str:
    return "the round before" if rounds == 1 else f"the {rounds} rounds before"


def _is_noise(interval: Interval) -> bool:
    """Whether nothing may have happened at all."""
    return interval.low <= 0 <= interval.high


def _part(interval: Interval) -> str:
    noise = ", within noise" if _is_noise(interval) else ""
    ends = f"{signed_text(interval.low)} to {signed_text(interval.high)}"
    return f"{signed_text(interval.point)} ({ends}{noise})"
