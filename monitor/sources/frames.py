"""From the groups that one scan counted to a frame: versions, bad rows, duplicates.

Every source classifies each row into a bucket (a stratum by its place, or a reason below zero)
and counts per bucket and model version; the rest is the same for all of them and stands here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from monitor.domain.model import BadRow, Candidate, Decisions, Frame, Stratum, StratumFrame, Window
from monitor.domain.segments import scaled, with_segments
from monitor.domain.values import MISSING_MARKERS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

OUTSIDE = -1
NAIVE_TIME = -2
TIME_MISSING = -3
TIME_UNPARSABLE = -4
ID_MISSING = -5
VERSION_MISSING = -6
PREDICTED_MISSING = -7
SCORE_MISSING = -8
SCORE_NAN = -9
SCORE_INFINITE = -10
SCORE_UNREADABLE = -11
IN_NO_STRATUM = -12
PREDICTED_UNKNOWN = -13

REASONS = {
    TIME_MISSING: BadRow.NO_TIME,
    TIME_UNPARSABLE: BadRow.TIME_UNPARSABLE,
    ID_MISSING: BadRow.NO_ID,
    VERSION_MISSING: BadRow.NO_VERSION,
    PREDICTED_MISSING: BadRow.NO_PREDICTION,
    SCORE_MISSING: BadRow.NO_SCORE,
    SCORE_NAN: BadRow.SCORE_NAN,
    SCORE_INFINITE: BadRow.SCORE_INFINITE,
    SCORE_UNREADABLE: BadRow.SCORE_UNREADABLE,
    IN_NO_STRATUM: BadRow.IN_NO_STRATUM,
    PREDICTED_UNKNOWN: BadRow.UNKNOWN_CLASS,
}
UNTIMED = frozenset({TIME_MISSING, TIME_UNPARSABLE})
_NOT_IN_WINDOW = UNTIMED | {OUTSIDE, NAIVE_TIME}


@dataclass(frozen=True, slots=True)
class BucketCount:
    """Rows of one bucket and model version: how many, the newest time, the first candidates.

    ``segments`` counts the rows by the values of each segment column, ``challenged`` by what the
    challenger decided.
    """

    bucket: int
    version: str | None
    rows: int
    newest: int | None = None
    candidates: tuple[Candidate, ...] = ()
    example: str | None = None
    segments: tuple[Mapping[str, int], ...] = ()
    challenged: Decisions | None = None


def in_window(groups: Iterable[BucketCount]) -> list[BucketCount]:
    """Keep the groups of rows whose time is known to be in the window."""
    return [group for group in groups if group.bucket not in _NOT_IN_WINDOW]


def of_newest_version(groups: Iterable[BucketCount]) -> list[BucketCount]:
    """Keep the groups of the window that the newest model version made."""
    here = in_window(groups)
    newest = _newest_version(here)
    return [group for group in here if group.version == newest or group.bucket == VERSION_MISSING]


def rows_in(groups: Iterable[BucketCount], *buckets: int) -> int:
    """Count the rows in these buckets."""
    return sum(group.rows for group in groups if group.bucket in buckets)


def first_example(groups: Iterable[BucketCount], bucket: int) -> str | None:
    """Return the smallest example of a bucket, to be named in an error."""
    matches = [g.example for g in groups if g.bucket == bucket and g.example is not None]
    return min(matches, default=None)


def assemble(
    window: Window,
    strata: Sequence[Stratum],
    groups: Sequence[BucketCount],
    *,
    timed_rows: int,
    at_most: int,
    segment_columns: tuple[str, ...] = (),
    unknown: Mapping[str, int] | None = None,
    challenger_fault: str | None = None,
    judge_fault: str | None = None,
) -> Frame:
    """Make the frame.

    A row without a usable time is in no window and in every one; the window gets its share of
    them, by the share of the ``timed_rows`` of the whole source that it holds.
    """
    here = in_window(groups)
    newest = _newest_version(here)
    current = of_newest_version(groups)
    rows = sum(group.rows for group in here)
    untimed = _untimed(groups, rows=rows, timed_rows=timed_rows)
    parts, duplicates = _strata_frames(strata, current, at_most)
    repeated = {BadRow.DUPLICATE: duplicates} if duplicates else {}
    return Frame(
        window=window,
        strata=with_segments(parts, segment_columns),
        segment_columns=segment_columns,
        rows=rows + sum(untimed.values()),
        bad_rows={**untimed, **_bad_rows([*current, *_unversioned(here)]), **repeated},
        notes=_other_versions(here, newest),
        model_version=newest,
        unknown=unknown or {},
        newest=_newest_time(here),
        challenger_fault=challenger_fault,
        judge_fault=judge_fault,
    )


def _bad_rows(current: Sequence[BucketCount]) -> dict[BadRow, int]:
    bad: dict[BadRow, int] = {}
    for group in current:
        bucket = VERSION_MISSING if group.version in MISSING_MARKERS else group.bucket
        if bucket in REASONS:
            reason = REASONS[bucket]
            bad[reason] = bad.get(reason, 0) + group.rows
    return bad


def _newest_time(here: Sequence[BucketCount]) -> datetime | None:
    existing = [group.newest for group in here if group.newest is not None]
    return _EPOCH + timedelta(microseconds=max(existing)) if existing else None


def _newest_version(here: Sequence[BucketCount]) -> str | None:
    versioned = [group for group in here if group.version not in (None, *MISSING_MARKERS)]
    return max(((group.newest or 0, group.version) for group in versioned), default=(0, None))[1]


def _unversioned(here: Sequence[BucketCount]) -> list[BucketCount]:
    """Keep the groups whose version is a word for a missing one."""
    return [group for group in here if group.version in MISSING_MARKERS]


def _other_versions(here: Sequence[BucketCount], newest: str | None) -> dict[str, int]:
    notes: dict[str, int] = {}
    for group in here:
        if group.version not in (newest, None, *MISSING_MARKERS):
            reason = f"model version {group.version} instead of {newest}"
            notes[reason] = notes.get(reason, 0) + group.rows
    return notes


def _untimed(groups: Sequence[BucketCount], *, rows: int, timed_rows: int) -> dict[BadRow, int]:
    share = rows / timed_rows if timed_rows else 1.0
    counted = {REASONS[bucket]: rows_in(groups, bucket) for bucket in sorted(UNTIMED)}
    # Rounded up: where rows lack a time, no window may look clean.
    return {reason: math.ceil(n * share) for reason, n in counted.items() if n * share > 0}


def _strata_frames(
    strata: Sequence[Stratum], current: Sequence[BucketCount], at_most: int
) -> tuple[tuple[StratumFrame, ...], int]:
    """Drop repeated ids, within a stratum and over strata, where the first one stays.

    A stratum held whole by its candidates gets its exact size; a larger one loses the share of
    repeated ids among its candidates.
    """
    seen: set[str] = set()
    parts, duplicates = [], 0
    for index, stratum in enumerate(strata):
        own = [group for group in current if group.bucket == index]
        part = _stratum_frame(stratum, own, seen, at_most)
        parts.append(part)
        duplicates += sum(group.rows for group in own) - part.size
    return tuple(parts), duplicates


def _stratum_frame(
    stratum: Stratum, groups: Sequence[BucketCount], seen: set[str], at_most: int
) -> StratumFrame:
    rows = sum(group.rows for group in groups)
    drawn = [candidate for group in groups for candidate in group.candidates]
    retained = _unseen(drawn, seen)
    repeated = round(rows * (len(drawn) - len(retained)) / len(drawn)) if drawn else 0
    counted = [group.segments for group in groups]
    everything = retained if rows == len(drawn) else None
    sizes = _by_value(everything, counted, rows - repeated)
    decided = _decided(everything, [group.challenged for group in groups], rows - repeated, rows)
    return StratumFrame(stratum, rows - repeated, tuple(retained[:at_most]), sizes, decided)


def _decided(
    everything: Sequence[Candidate] | None,
    counted: Sequence[Decisions | None],
    size: int,
    rows: int,
) -> Decisions | None:
    """Count what the challenger decided: exactly, but where ids come twice among many items."""
    existing = [each for each in counted if each is not None]
    if not existing:
        return None
    total = sum(existing[1:], existing[0])
    if everything is not None:
        decided = [candidate.challenged for candidate in everything]
        return replace(total, flagged=decided.count(True), undecided=decided.count(None))
    flagged, undecided = (round(n * size / rows) for n in (total.flagged, total.undecided))
    return replace(total, flagged=flagged, undecided=min(undecided, size - flagged))


def _unseen(candidates: Sequence[Candidate], seen: set[str]) -> list[Candidate]:
    """Keep the first candidate of each id that was not seen yet, and note it as seen."""
    retained = []
    for candidate in candidates:
        if candidate.id not in seen:
            seen.add(candidate.id)
            retained.append(candidate)
    return retained


def _by_value(
    everything: Sequence[Candidate] | None,
    counted: Sequence[tuple[Mapping[str, int], ...]],
    size: int,
) -> tuple[dict[str, int], ...]:
    """Sizes of each segment column's values: exact where every item of the stratum is known."""
    if everything is not None:
        columns = zip(*(candidate.segments for candidate in everything), strict=True)
        return tuple(dict(Counter(values)) for values in columns)
    totals = [sum(map(Counter, maps), Counter[str]()) for maps in zip(*counted, strict=True)]
    return tuple(scaled(total, size) for total in totals)
