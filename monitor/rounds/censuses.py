"""Censuses, labels that are counted whole: at the draw, and again if the truth has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import structlog

from monitor.domain.census import Census, in_frame
from monitor.domain.crashpoint import outside
from monitor.domain.errors import (
    LabelsRefused,
    MonitorError,
    SnapshotMissing,
    SourceRefused,
    SourceUnavailable,
    StoppedByBug,
)
from monitor.domain.label_parts import AssignedLabeler
from monitor.domain.model import Frame, Refusal
from monitor.domain.ports import Labeler, ReadsTruth, at_snapshot
from monitor.domain.round import Round
from monitor.presentation.labels import (
    lost_rows_sentence,
    scaled_sentence,
    stale_count_sentence,
)
from monitor.presentation.windows import changed_sentence
from monitor.rounds.context import MonitorContext
from monitor.storage.labels import census_store
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    Counted = dict[tuple[int, int], Census]
    """Censuses by round and part."""

log = structlog.get_logger("monitor.labels")


@dataclass(frozen=True, slots=True)
class Recounts:
    """Result of counting the labels of some rounds again; ``matched`` are those with rows.

    ``stale`` are rounds that keep their last count, with the reason: their predictions cannot be
    read as they were drawn, or their labels have no rows any more. ``obstacles`` are errors to
    retry.
    """

    counted: Counted = field(default_factory=dict)
    stale: dict[int, Refusal] = field(default_factory=dict)
    matched: set[int] = field(default_factory=set)
    obstacles: dict[int, MonitorError] = field(default_factory=dict)

    @property
    def refused(self) -> list[Refusal]:
        """What people should know about these counts."""
        of_counted = [each for census in self.counted.values() for each in census.refused]
        return [*of_counted, *self.stale.values()]


def first_censuses(
    context: MonitorContext, round_: Round, frame: Frame
) -> tuple[Frame, dict[int, Census]]:
    """Take the censuses of a scanned window, by part; returns the frame with their sizes.

    Raises `SourceUnavailable` if the predictions changed since the scan, `LabelsRefused` if the
    labeler reads no column.
    """
    result: dict[int, Census] = {}
    whole = round_.settings.counted_whole
    strata = tuple(part.stratum for part in frame.strata)
    sizes = {part.stratum.name: part.size for part in frame.strata}
    for one in context.labelers_of(round_.settings):
        flags = {flagged for flagged, part in whole.items() if part == one.part}
        if not flags or one.part in result:
            continue
        if not isinstance(one.labeler, ReadsTruth):
            message = (
                f"the round was opened to count the labels of a column, and {one.labeler.name} "
                "reads none; set labeling back to kind column until it is drawn"
            )
            raise LabelsRefused(message)
        source = at_snapshot(context.source, frame.snapshot)
        with outside("collect"):
            census = one.labeler.census(source, round_.window, strata, flags)
        if (drift := census.drift(sizes)) > round_.settings.bad_rows_max * frame.size:
            raise SourceUnavailable(changed_sentence(drift, frame.size))
        result[one.part], frame = in_frame(census, frame)
    return frame, result


def recounted(context: MonitorContext, labeler: Labeler, part_of: Mapping[int, int]) -> Recounts:
    """Count labels of rounds again if their truth has changed; ``part_of`` is the labeler's part.

    A round that fails does not stop the others.
    """
    result = Recounts()
    if not isinstance(labeler, ReadsTruth):
        return result
    with context.database.read() as connection:
        before = census_store.read_censuses(connection, list(part_of))
        rounds = round_store.read_rounds(connection, list(before)) if before else []
    for round_ in rounds:
        earlier = before[round_.id].get(part_of[round_.id])
        if earlier is not None:
            _update_counts(context, round_, labeler, (part_of[round_.id], earlier), result)
    return result


def _update_counts(
    context: MonitorContext,
    round_: Round,
    labeler: ReadsTruth,
    earlier: tuple[int, Census],
    result: Recounts,
) -> None:
    part, before = earlier
    try:
        with outside("collect"):
            if labeler.census_state(round_.window) != before.state:
                census = _recount(context, round_, labeler, before)
                if _lost_rows(before, census):
                    sentence = lost_rows_sentence(before.answered)
                    result.stale[round_.id] = Refusal(round_.name, sentence)
                else:
                    result.counted[round_.id, part] = census
                    result.matched.add(round_.id)
    except _LOST as error:
        result.stale[round_.id] = _stale(round_, before, error)
    except MonitorError as error:
        result.obstacles[round_.id] = error
    except Exception as error:
        log.exception("labels not counted because of a bug", monitor=round_.monitor)
        result.obstacles[round_.id] = StoppedByBug.of(error)


_LOST = (SourceRefused, SnapshotMissing)
"""Errors if predictions can no longer be read as they were drawn."""


def _lost_rows(before: Census, census: Census) -> bool:
    is_changed = census_store.counts_of(before) != census_store.counts_of(census)
    return bool(before.answered) and not census.matched and is_changed


def _stale(round_: Round, before: Census, error: SourceRefused | SnapshotMissing) -> Refusal:
    # Hooks and MLflow get the sentence, so it repeats nothing that may be in a row.
    is_public = isinstance(error, SnapshotMissing) or error.is_public
    sentence = stale_count_sentence(before.answered, str(error) if is_public else None)
    return Refusal(round_.name, sentence)


def changed_censuses(
    context: MonitorContext, round_: Round, readers: Sequence[AssignedLabeler]
) -> tuple[dict[int, Census], list[Refusal]]:
    """Count a round's labels again; returns the changed censuses by part, and what was refused."""
    with context.database.read() as connection:
        stored = census_store.read_censuses(connection, [round_.id]).get(round_.id, {})
    changed: dict[int, Census] = {}
    refused: list[Refusal] = []
    for one in readers:
        before = stored.get(one.part)
        if before is None or not isinstance(one.labeler, ReadsTruth):
            continue
        try:
            with outside("collect"):
                census = _recount(context, round_, one.labeler, before)
        except _LOST as error:
            refused.append(_stale(round_, before, error))
            continue
        refused += census.refused
        if _lost_rows(before, census):
            refused.append(Refusal(round_.name, lost_rows_sentence(before.answered)))
        elif census_store.counts_of(census) != census_store.counts_of(before):
            changed[one.part] = census
    return changed, refused


def _recount(context: MonitorContext, round_: Round, labeler: ReadsTruth, before: Census) -> Census:
    """Count a round's labels again, with the stratum sizes of its draw.

    Raises `SourceRefused` if too many of its predictions have changed, or the source does not
    have their segments.
    """
    with context.database.read() as connection:
        tallies = frame_store.read_strata(connection, round_.id)
    strata = [part.stratum for part in tallies]
    own = {cell.stratum for cell in before.strata}
    flags = {one.flagged for one in strata if one.name in own}
    census = context.try_of_round(
        round_.settings,
        lambda each: labeler.census(
            at_snapshot(each.source, round_.snapshot), round_.window, strata, flags
        ),
    )
    sizes: Mapping[str, int] = {cell.stratum: before.size(cell) for cell in before.strata}
    drift, items = census.drift(sizes), sum(sizes.values())
    if drift > round_.settings.bad_rows_max * items:
        message = (
            f"{drift:,} of its {items:,} predictions came or went since the draw, more than "
            "bad_rows_max allows; were they deleted or written again?"
        )
        raise SourceRefused(message, is_public=True)
    if lost := before.segments - census.segments:
        message = (
            f"its predictions are counted by the segment column {min(lost)!r}, which is not read "
            "now"
        )
        raise SourceRefused(message, is_public=True)
    if not drift:
        return census.fitted(before)
    sentence = scaled_sentence(round_.number, drift, items)
    refused = (*census.refused, Refusal(round_.name, sentence, rows=drift))
    return replace(census.fitted(before), refused=refused)
