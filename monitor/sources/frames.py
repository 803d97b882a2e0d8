"""Builds the frame of a window from its counted buckets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from monitor.domain.errors import SourceRefused
from monitor.domain.model import (
    BadRow,
    Candidate,
    Decisions,
    Frame,
    Release,
    Stratum,
    StratumFrame,
    Window,
)
from monitor.domain.segments import scaled, with_segments
from monitor.domain.values import MISSING_MARKERS
from monitor.sources.amounts import amount_notes, by_amount
from monitor.sources.buckets import (
    NAIVE_TIME,
    PREDICTED_UNKNOWN,
    REASONS,
    SCORE_UNREADABLE,
    TIME_UNPARSABLE,
    UNTIMED,
    VERSION_MISSING,
    BucketCount,
    in_window,
    newest_version,
    of_newest_version,
    rows_in,
    withheld,
)
from monitor.sources.dialects import Reading
from monitor.sources.sampled_rows import estimated, sampled_note
from monitor.sources.sql_query import Query, Scan
from monitor.sources.table_settings import Columns

_MOST_UNKNOWN = 20  # values
_MOST_VERDICTS = 50  # values
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class FrameBuilder:
    """Builds frames of one window in one reading; rare queries run once for all frames."""

    reading: Reading
    window: Window
    _timed: int | None = None
    _unknown: dict[tuple[str | None, frozenset[str]], dict[str, int]] = field(default_factory=dict)

    _verdicts: dict[str, dict[str, int]] = field(default_factory=dict)

    def frame(self, scan: Scan, counts: Sequence[BucketCount]) -> Frame:
        """Build the frame of a scan; raises `SourceRefused` if all counted rows are unusable.

        A row without a usable time may belong to any window; each window gets a share of such rows
        in proportion to its share of all rows with a time.
        """
        query, columns = scan.query, scan.query.settings.columns
        _check_counts(query.table.place, columns, counts, len(scan.strata))
        inside, current = in_window(counts), of_newest_version(counts)
        newest = newest_version(inside)
        rows = sum(one.rows for one in inside)
        untimed = _untimed(counts, rows=rows, timed_rows=self._timed_rows(query, counts))
        unversioned = [one for one in inside if one.version in MISSING_MARKERS]
        strata, duplicates = _stratum_frames(scan, current)
        repeated = {BadRow.DUPLICATE: duplicates} if duplicates else {}
        return Frame(
            window=self.window,
            strata=with_segments(strata, columns.segments),
            segment_columns=columns.segments,
            group_column=columns.group,
            rows=rows + sum(untimed.values()),
            bad_rows={**untimed, **_bad_rows([*current, *unversioned]), **repeated},
            notes={
                **_other_versions(inside, newest),
                **_release_note(strata),
                **sampled_note(strata),
                **(amount_notes(query.table.place, strata, current) if query.has_amounts else {}),
            },
            model_version=newest,
            unknown=self._unknown_values(query, counts),
            other_verdicts=self._other_verdicts(query),
            newest=_newest_time(inside),
            challenger_fault=query.challenger_fault,
            judge_fault=query.judge_fault,
            snapshot=query.table.snapshot,
            omitted=query.table.omitted,
        )

    def _timed_rows(self, query: Query, counts: Sequence[BucketCount]) -> int:
        """Count all rows with a time; needs a query only if some rows have no time."""
        if not rows_in(counts, *UNTIMED):
            return sum(one.rows for one in counts)
        if self._timed is None:
            self._timed = int(self.reading.connection.scalar(query.timed()) or 0)
        return self._timed

    def _unknown_values(self, query: Query, counts: Sequence[BucketCount]) -> dict[str, int]:
        """Read predicted values that the config does not list."""
        if not rows_in(counts, PREDICTED_UNKNOWN):
            return {}
        requested = (query.settings.columns.predicted, frozenset(query.named))
        if requested not in self._unknown:
            rows = self.reading.connection.execute(query.unknown(self.window, _MOST_UNKNOWN))
            self._unknown[requested] = {text: int(count) for text, count in rows}
        return self._unknown[requested]

    def _other_verdicts(self, query: Query) -> dict[str, int]:
        """Read the verdicts that are not positive, if the judge's rule lists values."""
        judge = query.judge
        if judge is None or judge.positive is None or query.judge_fault is not None:
            return {}
        if judge.rule not in self._verdicts:
            statement = query.other_verdicts(judge, self.window, _MOST_VERDICTS)
            rows = self.reading.connection.execute(statement)
            self._verdicts[judge.rule] = {text: int(count) for text, count in rows}
        return self._verdicts[judge.rule]


def naive_time(location: object, columns: Columns, example: str) -> SourceRefused:
    """Return the error for times without a zone if the config has none."""
    message = (
        f"{location}: column {columns.time!r} (columns.time) holds times without a time zone, the "
        f"first is {example!r}; set source.time_zone (such as UTC or Europe/Prague), or write "
        "times with an offset"
    )
    return SourceRefused(message)


def datetime_of(location: object, columns: Columns, microseconds: int) -> datetime:
    """Convert microseconds since 1970 to a time.

    Raises `SourceRefused` if the year is not 1 to 9999, such as for a wrong unit of the column.
    """
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        message = (
            f"{location}: column {columns.time!r} (columns.time) holds a time outside of the "
            f"years 1 to 9999 ({microseconds:,} microseconds since 1970); correct that row, or "
            "source.time_unit where it has one"
        )
        raise SourceRefused(message) from None


def _check_counts(
    location: object, columns: Columns, counts: Sequence[BucketCount], strata: int
) -> None:
    """Raise `SourceRefused` if times lack a zone, or if no time or no score can be read."""
    naive = _first_example(counts, NAIVE_TIME)
    if naive is not None:
        raise naive_time(location, columns, naive)
    wrong = _first_example(counts, TIME_UNPARSABLE)
    if wrong is not None and all(one.bucket in UNTIMED for one in counts):
        message = (
            f"{location}: no value of column {columns.time!r} (columns.time) is a time, the "
            f"first is {wrong!r}; expected ISO 8601, such as 2026-03-02T06:00:00Z"
        )
        raise SourceRefused(message)
    wrong = _first_example(counts, SCORE_UNREADABLE)
    if wrong is not None and not rows_in(counts, *range(strata)):
        message = (
            f"{location}: no value of column {columns.score!r} (columns.score) is a number, "
            f"the first is {wrong!r}; expected numbers with a decimal point, such as 0.73"
        )
        raise SourceRefused(message)


def _first_example(counts: Iterable[BucketCount], bucket: int) -> str | None:
    examples = (one.example for one in counts if one.bucket == bucket and one.example is not None)
    return min(examples, default=None)


def _newest_time(inside: Sequence[BucketCount]) -> datetime | None:
    times = [one.newest for one in inside if one.newest is not None]
    return _EPOCH + timedelta(microseconds=max(times)) if times else None


def _bad_rows(current: Sequence[BucketCount]) -> dict[BadRow, int]:
    bad: Counter[BadRow] = Counter()
    for one in current:
        bucket = VERSION_MISSING if one.version in MISSING_MARKERS else one.bucket
        if bucket in REASONS:
            bad[REASONS[bucket]] += one.rows
    return dict(bad)


def _other_versions(inside: Sequence[BucketCount], newest: str | None) -> dict[str, int]:
    notes: Counter[str] = Counter()
    for one in inside:
        if one.version not in (newest, None, *MISSING_MARKERS):
            notes[f"model version {one.version} instead of {newest}"] += one.rows
    return dict(notes)


RELEASED_NOTE = "flagged items were let through, according to columns.released"


def _release_note(strata: Sequence[StratumFrame]) -> dict[str, int]:
    released = [part.release.released for part in strata if part.release is not None]
    return {RELEASED_NOTE: sum(released)} if released else {}


def _untimed(counts: Sequence[BucketCount], *, rows: int, timed_rows: int) -> dict[BadRow, int]:
    share = rows / timed_rows if timed_rows else 1.0
    untimed = {REASONS[bucket]: rows_in(counts, bucket) for bucket in sorted(UNTIMED)}
    # Rounded up, so that no window looks clean if rows lack a time.
    return {reason: math.ceil(n * share) for reason, n in untimed.items() if n * share > 0}


def _stratum_frames(
    scan: Scan, current: Sequence[BucketCount]
) -> tuple[tuple[StratumFrame, ...], int]:
    """Drop repeated ids, exactly if candidates are a whole stratum, else by their share."""
    seen: set[str] = set()
    parts, duplicates = [], 0
    settings = scan.query.settings
    for index, stratum in enumerate(scan.strata):
        own = [one for one in current if one.bucket in (index, withheld(index))]
        part = _stratum_frame(stratum, own, seen, scan.at_most)
        if stratum.flagged and settings.columns.released is not None:
            part = replace(part, release=_release(own, index, settings.released_with))
        duplicates += sum(one.rows for one in own) - part.size
        if settings.kept_with is not None:
            part = estimated(part, own, settings.kept_with)
        if settings.columns.weight is not None:
            part = by_amount(part, own)
        parts.append(part)
    return tuple(parts), duplicates


def _release(own: Sequence[BucketCount], index: int, probability: float | str | None) -> Release:
    """Count the items of a flagged stratum that were let through, and the expected number."""
    if isinstance(probability, str):
        expected = sum(one.chance.total for one in own if one.chance is not None)
    else:
        expected = (probability or 0.0) * sum(one.rows for one in own)
    return Release(rows_in(own, index), expected)


def _stratum_frame(
    stratum: Stratum, counts: Sequence[BucketCount], seen: set[str], at_most: int
) -> StratumFrame:
    rows = sum(one.rows for one in counts)
    drawn = [candidate for one in counts for candidate in one.candidates]
    candidates = _unseen(drawn, seen)
    size = rows - (round(rows * (len(drawn) - len(candidates)) / len(drawn)) if drawn else 0)
    whole = candidates if rows == len(drawn) else None
    sizes = _segment_sizes(whole, [one.segments for one in counts], size)
    decisions = _decisions(whole, [one.challenged for one in counts], size, rows)
    return StratumFrame(stratum, size, tuple(candidates[:at_most]), sizes, decisions)


def _decisions(
    whole: Sequence[Candidate] | None,
    counted: Sequence[Decisions | None],
    size: int,
    rows: int,
) -> Decisions | None:
    """Count the challenger's decisions; scaled down if a large stratum has repeated ids."""
    present = [each for each in counted if each is not None]
    if not present:
        return None
    total = sum(present[1:], present[0])
    if whole is not None:
        decided = [candidate.challenged for candidate in whole]
        return replace(total, flagged=decided.count(True), undecided=decided.count(None))
    flagged, undecided = (round(n * size / rows) for n in (total.flagged, total.undecided))
    return replace(total, flagged=flagged, undecided=min(undecided, size - flagged))


def _unseen(candidates: Sequence[Candidate], seen: set[str]) -> list[Candidate]:
    """Return the first candidate of each id not in ``seen``, and add the id."""
    unseen = []
    for candidate in candidates:
        if candidate.id not in seen:
            seen.add(candidate.id)
            unseen.append(candidate)
    return unseen


def _segment_sizes(
    whole: Sequence[Candidate] | None,
    counted: Sequence[tuple[Mapping[str, int], ...]],
    size: int,
) -> tuple[dict[str, int], ...]:
    """Return the sizes of each segment column's values; exact if all items are candidates."""
    if whole is not None:
        columns = zip(*(candidate.segments for candidate in whole), strict=True)
        return tuple(dict(Counter(values)) for values in columns)
    totals = [sum(map(Counter, maps), Counter[str]()) for maps in zip(*counted, strict=True)]
    return tuple(scaled(dict(sorted(total.items())), size) for total in totals)
