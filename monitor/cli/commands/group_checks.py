"""What `pr-monitor check` reports about the groups of predictions."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from monitor.domain.model import Frame
from monitor.domain.shown import Shown
from monitor.domain.values import listed
from monitor.presentation.numbers import plural
from monitor.presentation.parts.runs import groups_question
from monitor.rounds.sampling.plausibility import missing_groups

_LEAST_GROUPS = 10  # of a class; with fewer, 95 % of Student's t is far from 95 % of the normal
_MOST_OF_ONE = 0.25  # of the items of a class, if there are enough groups
_MOST_ALONE = 0.5  # of the ids
_MOST_EQUAL = 0.1  # of the items
_BEGINNING = re.compile(r"(.*[A-Za-z].*[-_:/.#|])[^-_:/.#|]+")  # dates and numbers are no groups
_BATCHES = 0.9  # of the items; where nearly all share a time, a batch job wrote it
_BURSTS = 10  # times as many pairs of equal times as steady traffic has: the day has its peaks
_COMPARED = 20  # items; of fewer each may well be of another group


def group_warnings(frame: Frame) -> Iterator[str]:
    """Warn if the values of ``source.columns.group`` cannot be groups of items."""
    column = f"column {frame.group_column!r} (source.columns.group)"
    groups = [candidate.group for part in frame.strata for candidate in part.candidates]
    if frame.group_column is None or not groups:
        return
    named = Counter(group for group in groups if group is not None)
    drawn = f"{plural(len(groups), 'prediction')} that could be drawn"
    yield from missing_groups(frame)
    if len(named) == len(groups) >= _COMPARED:
        yield (
            f"{column} has another value in each of {drawn}, as an id has: it changes nothing; "
            "name what several items belong to, or remove the setting"
        )
    yield from _few_groups(frame, column)
    yield from _spellings(named, column)


def group_hints(
    frame: Frame, shown: Collection[Shown] = (), times: Collection[datetime] = ()
) -> Iterator[str]:
    """Ask for groups if none are named, but ids share a prefix, or content or times are equal."""
    if frame.group_column is not None:
        return
    ids = [candidate.id for part in frame.strata for candidate in part.candidates]
    starts = Counter(match[1] for match in map(_BEGINNING.fullmatch, ids) if match is not None)
    repeated = {start: count for start, count in starts.items() if count > 1}
    if sum(repeated.values()) > _MOST_ALONE * len(ids) and len(repeated) >= _LEAST_GROUPS:
        largest = max(repeated, key=lambda start: (repeated[start], start))
        yield (
            f"{sum(repeated.values())} of {plural(len(ids), 'id')} share their beginning with "
            f"another, such as {largest!r}: {groups_question()}"
        )
    texts = Counter(repr(sorted(one.items())) for one in shown if any(one.values()))
    equal = sum(count for count in texts.values() if count > 1)
    if equal > _MOST_EQUAL * texts.total() and equal >= _LEAST_GROUPS:
        yield f"{equal} of {plural(texts.total(), 'item')} show equal content: {groups_question()}"
    yield from _bursts(times)


def _bursts(times: Collection[datetime]) -> Iterator[str]:
    """Report times that several items share, unless all come in batches or times are coarse."""
    shared = [count for count in Counter(times).values() if count > 1]
    if sum(shared) <= _MOST_EQUAL * len(times) or len(shared) < _LEAST_GROUPS:
        return
    span = max(times) - min(times)
    pairs = sum(count * (count - 1) for count in shared) / 2
    by_chance = len(times) * (len(times) - 1) / 2 * _resolution(times) / span
    if sum(shared) < _BATCHES * len(times) and pairs > _BURSTS * by_chance:
        yield (
            f"{sum(shared)} of {plural(len(times), 'item')} have the same time as another: "
            f"{groups_question()}"
        )


def _resolution(times: Collection[datetime]) -> timedelta:
    """Return the longest unit that all times are whole numbers of."""
    units = (timedelta(days=1), timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1))
    start = datetime(1970, 1, 1, tzinfo=UTC)
    whole = (unit for unit in units if not any((at - start) % unit for at in times))
    return next(whole, timedelta(milliseconds=1))


def _few_groups(frame: Frame, column: str) -> Iterator[str]:
    for name, flagged in (("flagged", True), ("passed", False)):
        parts = [part for part in frame.strata if part.stratum.flagged == flagged]
        groups = Counter(c.group or (c.id,) for part in parts for c in part.candidates)
        items = groups.total()
        if items < _COMPARED:
            continue
        [(largest, most)] = groups.most_common(1)
        if len(groups) < _LEAST_GROUPS:
            yield (
                f"{column} has only {plural(len(groups), 'value')} among {items} {name} "
                "predictions: intervals of the rate are very wide, since so few groups show little "
                "of how groups differ; is it the column that you mean?"
            )
        elif most > _MOST_OF_ONE * items:
            yield (
                f"{column} has the value {largest!r} in {most} of {items} {name} predictions, "
                "which count as one group: if it stands for no value, leave it empty"
            )


def _spellings(named: Mapping[str, int], column: str) -> Iterator[str]:
    forms: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for value, count in named.items():
        forms[value.casefold().removesuffix(".0")][value] = count
    several = [values for values in forms.values() if len(values) > 1]
    if several:
        yield (
            f"{column} writes a value in several ways, {listed(several[0])}: they count as "
            "different groups; write each in one way"
        )
