"""Whether labels are older than the predictions that they are joined with.

If a customer is scored every week by the same id, a label may be of an earlier prediction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, time, timedelta

from monitor.domain.crashpoint import outside
from monitor.domain.model import Window
from monitor.domain.ports import ReadsTruth
from monitor.presentation.labels import older_labels_sentence
from monitor.rounds.context import MonitorContext
from monitor.rounds.labels.truth_reach import NEAR

FEWEST = 2  # Older labels: a single one may be a typing error


def older_labels_concern(
    context: MonitorContext, labeler: ReadsTruth, ids: Sequence[str], window: Window
) -> str | None:
    """Report how many labels became known before their prediction; None if few or unknown."""
    with outside("collect"):
        labeled_at = labeler.label_times(ids)
    if not labeled_at:
        return None
    with outside("scan"):
        predicted = context.source.prediction_times([*labeled_at], window)
    room = _precision(labeled_at.values())
    older = [item for item in predicted if labeled_at[item] + room < predicted[item]]
    if len(older) < max(FEWEST, NEAR * len(labeled_at)):
        return None
    first = min(older)
    example = (first, labeled_at[first], predicted[first])
    return older_labels_sentence(len(older), len(labeled_at), example)


def _precision(times: Collection[datetime]) -> timedelta:
    """Return a day if all times are dates, else zero."""
    return timedelta(days=all(at.time() == time() for at in times))
