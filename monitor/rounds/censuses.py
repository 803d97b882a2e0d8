"""Labels that are counted whole: at the draw, and again once the truth has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from monitor.domain.census import Census, in_frame
from monitor.domain.crashpoint import outside
from monitor.domain.errors import LabelsRefused, SourceUnavailable
from monitor.domain.model import Frame, Refusal
from monitor.domain.ports import Labeler, ReadsTruth, as_counted
from monitor.presentation.labels import counted_before_sentence, scaled_sentence
from monitor.presentation.windows import changed_sentence
from monitor.rounds.context import MonitorContext
from monitor.storage.labels import census_store
from monitor.storage.rounds import round_store
from monitor.storage.rounds.round_store import Round
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    Counted = dict[tuple[int, int], Census]
    """Censuses by round and part."""


def first_censuses(
    context: MonitorContext, round_: Round, frame: Frame
) -> tuple[Frame, dict[int, Census]]:
    """Count the labels of a scanned window that are counted whole, by part; strata get its sizes.

    Raises `SourceUnavailable` if the predictions changed since the scan.
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
            raise LabelsRefused(counted_before_sentence(one.labeler.name))
        source = as_counted(context.source, frame.snapshot)
        with outside("collect"):
            census = one.labeler.census(source, round_.window, strata, flags)
        if (drift := census.drift(sizes)) > round_.settings.bad_rows_max * frame.size:
            raise SourceUnavailable(changed_sentence(drift, frame.size))
        result[one.part], frame = in_frame(census, frame)
    return frame, result


def recounted(context: MonitorContext, labeler: Labeler, part_of: Mapping[int, int]) -> Counted:
    """Count the labels of rounds whose truth has changed since; ``part_of`` is the labeler's."""
    if not isinstance(labeler, ReadsTruth):
        return {}
    with context.database.read() as connection:
        before = census_store.read_censuses(connection, list(part_of))
        rounds = round_store.read_rounds(connection, list(before)) if before else []
    result: Counted = {}
    for round_ in rounds:
        part = part_of[round_.id]
        earlier = before[round_.id].get(part)
        with outside("collect"):
            if earlier is None or labeler.census_state(round_.window) == earlier.state:
                continue
            result[round_.id, part] = _recount(context, round_, labeler, earlier)
    return result


def _recount(context: MonitorContext, round_: Round, labeler: ReadsTruth, before: Census) -> Census:
    """Count a round's labels again, by the sizes that it was drawn with.

    Raises `LabelsRefused` if too many of its predictions are others by now.
    """
    with context.database.read() as connection:
        tallies = frame_store.read_strata(connection, round_.id)
    strata = [part.stratum for part in tallies]
    own = {cell.stratum for cell in before.strata}
    flags = {one.flagged for one in strata if one.name in own}
    source = as_counted(context.source, round_.snapshot)
    census = labeler.census(source, round_.window, strata, flags)
    sizes: Mapping[str, int] = {cell.stratum: before.size(cell) for cell in before.strata}
    drift = census.drift(sizes)
    if not drift:
        return census.fitted(before)
    sentence = scaled_sentence(round_.number, drift, sum(sizes.values()))
    if drift > round_.settings.bad_rows_max * sum(sizes.values()):
        raise LabelsRefused(sentence)
    refused = (*census.refused, Refusal(round_.name, sentence, rows=drift))
    return replace(census.fitted(before), refused=refused)
