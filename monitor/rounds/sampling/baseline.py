"""What a window is compared with before it is labeled: earlier rounds, or the reference."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.crashpoint import outside
from monitor.domain.errors import SourceRefused
from monitor.presentation.notices import inverted_sentence
from monitor.rounds.reporting.concerns import INVERTED
from monitor.rounds.sampling import plausibility
from monitor.rounds.sampling.plausibility import Concern, Usual
from monitor.stats.core.sample import LabeledSample, ScoredSample
from monitor.stats.curves.curve_draws import curve_bands
from monitor.storage import round_store, window_store

if TYPE_CHECKING:
    from datetime import datetime

    from monitor.domain.model import Frame
    from monitor.domain.settings import RoundSettings
    from monitor.rounds.context import MonitorContext, ReferenceItems

ROUNDS = 8
"""Earlier rounds that say how much is usually flagged."""

_FEWEST = 10  # positives, and negatives, that tell an order
_MOST = 2000  # items that tell it well enough
_DRAWS = 500


@dataclass(frozen=True, slots=True)
class Looked:
    """What is odd about a window, and what is merely worth a note."""

    concerns: tuple[Concern, ...]
    notes: tuple[str, ...] = ()


def look_odd(
    context: MonitorContext, frame: Frame, slot: datetime, settings: RoundSettings
) -> Looked:
    """Compare a window with what came before it."""
    usual, is_first = usual_flagged(context, slot, settings)
    concerns = plausibility.flag_concerns(frame, usual, settings.threshold)
    if is_first and context.reference is not None:
        concerns += order_concerns(context.reference())
    late, notes = _late(context, slot, settings)
    return Looked((*concerns, *late), notes)


def usual_flagged(
    context: MonitorContext, slot: datetime, settings: RoundSettings
) -> tuple[Usual | None, bool]:
    """Say how much is usually flagged, and whether no round was drawn before.

    The median round stands for all: one of another kind does not move it.
    """
    with context.database.read() as connection:
        monitor_id = round_store.find_monitor(connection, context.settings.name)
        sizes = (
            []
            if monitor_id is None
            else window_store.flagged_sizes(
                connection, monitor_id, before=slot, threshold=settings.threshold, at_most=ROUNDS
            )
        )
    if sizes:
        total = sum(size for _, size in sizes)
        rate = median(flagged / size for flagged, size in sizes)
        where = "in the last round" if len(sizes) == 1 else f"in the last {len(sizes)} rounds"
        return Usual(rate * total, total, where), False
    matrix = settings.reference
    if matrix is not None:
        size = matrix.tp + matrix.fp + matrix.fn + matrix.tn
        return Usual(matrix.tp + matrix.fp, size, "in the reference"), True
    if context.reference is not None and len(items := context.reference().flagged):
        return Usual(int(items.sum()), len(items), "in the reference"), True
    return None, True


def order_concerns(reference: ReferenceItems) -> list[Concern]:
    """Say whether positives of the reference have lower scores than its negatives."""
    items = np.flatnonzero(~np.isnan(reference.score))
    if len(items) > _MOST:
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
    sentence = inverted_sentence("reference", (area.point, area.low, area.high))
    return [Concern(INVERTED, sentence)]


def _late(
    context: MonitorContext, slot: datetime, settings: RoundSettings
) -> tuple[list[Concern], tuple[str, ...]]:
    """Count the window of the round before once more: rows that are new came after its draw.

    A window that is refused by now says nothing, and does not keep this one from being drawn.
    """
    with context.database.read() as connection:
        monitor_id = round_store.find_monitor(connection, context.settings.name)
        last = (
            None if monitor_id is None else window_store.drawn_before(connection, monitor_id, slot)
        )
    if last is None:
        return [], ()
    try:
        with outside("count"):
            late = context.source.count(last.window) - last.rows
    except SourceRefused:
        return [], ()
    concern = plausibility.late_concern(last.number, last.rows, late, settings)
    if concern is not None:
        return [concern], ()
    return [], (plausibility.late_text(last.number, late),) if late > 0 else ()
