"""What a window is compared with before it is labeled: earlier rounds, or the reference."""

from __future__ import annotations

from datetime import datetime
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.crashpoint import outside
from monitor.domain.errors import SourceRefused
from monitor.domain.model import UsualRate
from monitor.presentation import windows
from monitor.presentation.notices import REFERENCE, inverted_sentence
from monitor.rounds.reporting.concerns import INVERTED
from monitor.rounds.sampling import plausibility
from monitor.rounds.sampling.plausibility import (
    Concern,
    Oddities,
    check_challenger,
    check_judge,
)
from monitor.rounds.sampling.traffic import lost_traffic
from monitor.stats.core.sample import LabeledSample, ScoredSample
from monitor.stats.curves.curve_draws import curve_bands
from monitor.storage.rounds import round_store, window_store

if TYPE_CHECKING:
    from monitor.domain.model import Frame
    from monitor.domain.settings import RoundSettings
    from monitor.rounds.context import MonitorContext, ReferenceItems

ROUNDS = 8  # Earlier rounds that show how much is usually flagged: two months of weeks
_FEWEST = 10  # positives, and negatives: under that chance alone turns an order round
_MOST = 2000  # items: more cost time, and the interval is narrow enough
_DRAWS = 500


def check_baseline(
    context: MonitorContext, frame: Frame, slot: datetime, settings: RoundSettings
) -> Oddities:
    """Compare a window with what came before it."""
    usual, is_first = usual_flagged(context, slot, settings)
    concerns = plausibility.flag_concerns(frame, usual, settings.threshold)
    concerns += plausibility.release_concerns(frame)
    if is_first and context.reference is not None:
        concerns += order_concerns(context.reference())
    late, notes = _late(context, slot, settings)
    lost = lost_traffic(context, frame, slot, settings)
    others = check_challenger(frame, settings), check_judge(frame, settings)
    concerns += [*late, *lost, *(each for other in others for each in other.concerns)]
    return Oddities(tuple(concerns), (*notes, *(each for other in others for each in other.notes)))


def usual_flagged(
    context: MonitorContext, slot: datetime, settings: RoundSettings
) -> tuple[UsualRate | None, bool]:
    """Return how much is usually flagged, and whether no round was drawn before."""
    usual = _usual_of_rounds(context, slot, settings)
    if usual is not None:
        return usual, False
    return _usual_of_reference(context, settings), True


def _usual_of_rounds(
    context: MonitorContext, slot: datetime, settings: RoundSettings
) -> UsualRate | None:
    """Count what was flagged in the last rounds.

    The median round stands for all: one of another kind does not move it.
    """
    with context.database.read() as connection:
        monitor_id = round_store.find_monitor(connection, context.settings.name)
        if monitor_id is None:
            return None
        sizes = window_store.flagged_sizes(
            connection, monitor_id, before=slot, threshold=settings.threshold, at_most=ROUNDS
        )
    if not sizes:
        return None
    total = sum(size for _, size in sizes)
    rate = median(flagged / size for flagged, size in sizes)
    return UsualRate(rate * total, total, rounds=len(sizes))


def _usual_of_reference(context: MonitorContext, settings: RoundSettings) -> UsualRate | None:
    matrix = settings.reference
    if matrix is not None:
        flagged = matrix.tp + matrix.fp
        return UsualRate(flagged, flagged + matrix.fn + matrix.tn)
    if context.reference is not None and len(items := context.reference().flagged):
        return UsualRate(int(items.sum()), len(items))
    return None


def order_concerns(reference: ReferenceItems) -> list[Concern]:
    """Return whether positives of the reference have lower scores than its negatives."""
    items = np.flatnonzero(~np.isnan(reference.score))
    if len(items) > _MOST:
        # One seed for all: the same reference gives the same answer whenever it is looked at.
        items = np.random.default_rng(0).choice(items, _MOST, replace=False)
    items = items[np.argsort(~reference.flagged[items], kind="stable")]
    positive, flagged = reference.positive[items], reference.flagged[items]
    if min(positive.sum(), (~positive).sum()) < _FEWEST:
        return []
    sample = LabeledSample(
        np.where(flagged, 0, 1), positive, size=[flagged.sum(), (~flagged).sum()], flagged=1
    )
    scored = ScoredSample(sample, reference.score[items])
    rng = np.random.default_rng(0)
    area = curve_bands(scored, points=3, rng=rng, draws=_DRAWS).roc_area
    if area.high >= 0.5:  # noqa: PLR2004  chance
        return []
    sentence = inverted_sentence(REFERENCE, (area.point, area.low, area.high))
    return [Concern(INVERTED, sentence)]


def _late(
    context: MonitorContext, slot: datetime, settings: RoundSettings
) -> tuple[list[Concern], tuple[str, ...]]:
    """Count the window of the round before once more: rows that are new came after its draw.

    A window that is refused by now is left out, and does not keep this one from being drawn.
    """
    with context.database.read() as connection:
        monitor_id = round_store.find_monitor(connection, context.settings.name)
        if monitor_id is None:
            return [], ()
        drawn = window_store.drawn_windows(connection, monitor_id, before=slot, at_most=1)
    if not drawn:
        return [], ()
    [last] = drawn
    try:
        with outside("count"):
            late = context.source.count(last.window) - last.rows
    except SourceRefused:
        return [], ()
    if late > settings.bad_rows_max * (last.rows + late):
        sentence = windows.many_late_rows_sentence(last.number, last.rows, late)
        return [Concern(plausibility.LATE, sentence)], ()
    return [], (windows.late_rows_sentence(last.number, late),) if late > 0 else ()
