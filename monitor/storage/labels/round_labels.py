"""The current labels of a round, read once and passed to all code that counts them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TypeVar

from sqlalchemy import Connection, or_, select

from monitor.domain.census import Cell, Census
from monitor.domain.label_parts import COLUMN, checks_of
from monitor.domain.labels import (
    Statement,
    current_answers,
    current_label,
    is_disputed,
    is_unsettled,
)
from monitor.domain.model import Answer, LabelKind
from monitor.domain.round import Round
from monitor.domain.state import RoundState
from monitor.storage.database import in_chunks
from monitor.storage.labels import census_store, check_store, label_store
from monitor.storage.labels.check_store import CheckCounts, ClassChecks, WeightedChecks
from monitor.storage.labels.label_store import LabelOf
from monitor.storage.queries import by_first
from monitor.storage.samples import frame_store
from monitor.storage.samples.frame_store import StratumTally
from monitor.storage.tables import items
from monitor.storage.tables import rounds as rounds_table

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class DrawnItem:
    """A drawn item.

    ``group`` is the group it belongs to; None if unknown. ``challenged``: whether the challenger
    flags it; None if the challenger made no decision.
    """

    id: str
    stratum: str
    score: float | None
    segments: Mapping[str, str]
    group: str | None = None
    challenged: bool | None = None


@dataclass(frozen=True, slots=True)
class LabeledItem:
    """A drawn item with its current label, 1 or 0."""

    id: str
    stratum: str
    score: float | None
    positive: bool


@dataclass(frozen=True, slots=True)
class SeveralAnswers:
    """The answers to one item, 1 or 0, by annotator, without the adjudicator's."""

    item_id: str
    stratum: str
    answers: Mapping[str, Answer]


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """An item that people check: its stratum, and all statements about it."""

    id: str
    stratum: str
    statements: Sequence[Statement]

    def plus(self, statement: Statement) -> CheckedItem:
        """Add a statement."""
        return replace(self, statements=(*self.statements, statement))

    @property
    def free(self) -> Answer | None:
        """The label of the column."""
        return current_label(one for one in self.statements if one.annotator == COLUMN)

    def truth(self, adjudicator: str | None) -> Answer | None:
        """Return the label by people, without the column's."""
        return current_label(
            (one for one in self.statements if one.annotator != COLUMN), adjudicator
        )


@dataclass(frozen=True)
class RoundLabels:
    """The sample of a round, and all statements about its items up to a label revision.

    ``items`` are in the order of the draw. ``said`` has the statements about each item that has
    any, in the order of acceptance. ``adjudicator`` decides if people disagree. ``censuses`` has,
    by labeler, the counts of strata in which no item is drawn. ``checks`` has the answers of people
    to items labeled by a column; these answers do not count as labels.
    """

    label_revision: int
    adjudicator: str | None
    strata: tuple[StratumTally, ...]
    items: tuple[DrawnItem, ...]
    said: Mapping[str, Sequence[Statement]]
    censuses: Mapping[int, Census] = field(default_factory=dict)
    checks: tuple[CheckedItem, ...] = ()

    @cached_property
    def census(self) -> dict[Cell, tuple[int, int, int]]:
        """Number of labeled, positive and declined items, by cell of the censuses."""
        return {cell: one.tally(cell) for one in self.censuses.values() for cell in one.cells}

    @cached_property
    def is_flagged(self) -> dict[str, bool]:
        """Whether each stratum is predicted positive, by name."""
        return {part.stratum.name: part.stratum.flagged for part in self.strata}

    @cached_property
    def current(self) -> dict[str, Answer]:
        """The current label of each item that has one."""
        return self.answers_by(current_label)

    @cached_property
    def labeled(self) -> list[LabeledItem]:
        """The items that are labeled 1 or 0."""
        return [
            LabeledItem(item.id, item.stratum, item.score, positive)
            for item, positive in self.usable()
        ]

    def usable(self) -> Iterator[tuple[DrawnItem, bool]]:
        """Yield the items labeled 1 or 0, and whether the label is 1."""
        for item in self.items:
            answer = self.current.get(item.id, Answer.CANNOT_TELL)
            if answer is not Answer.CANNOT_TELL:
                yield item, answer is Answer.POSITIVE

    @property
    def answered(self) -> int:
        """Number of items that are labeled 1 or 0, or answered "cannot tell"."""
        return sum(part.labeled + part.declined for part in self.counts())

    @property
    def unchecked(self) -> int:
        """Number of checks that people have not answered."""
        return sum(one.truth(self.adjudicator) is None for one in self.checks)

    @cached_property
    def check_counts(self) -> dict[bool, ClassChecks]:
        """Checks of the column's labels, by predicted class."""
        of: defaultdict[str, Counter[tuple[Answer | None, Answer | None]]] = defaultdict(Counter)
        for one in self.checks:
            of[one.stratum][one.truth(self.adjudicator), one.free] += 1
        both = (Answer.POSITIVE, Answer.NEGATIVE)
        positions = [(truth, free) for truth in both for free in (truth, *set(both) - {truth})]
        result = {}
        for up in (True, False):
            own = [part for part in self.strata if part.stratum.flagged == up and part.planned]
            if any(part.stratum.name in of for part in own):
                mean = sum(part.size for part in own) / sum(part.planned for part in own)
                result[up] = ClassChecks.of(
                    {
                        (name := part.stratum.name): WeightedChecks(
                            part.size / part.planned / mean,
                            CheckCounts(*(of[name][each] for each in positions)),
                        )
                        for part in own
                    }
                )
        return result

    def counts(self, label_of: LabelOf = current_label) -> list[StratumTally]:
        """Count the labels per stratum, in order; ``label_of`` chooses the answer that counts."""
        labels = self.current if label_of is current_label else self.answers_by(label_of)
        answers = self._by_stratum(labels)
        return [
            _counted(part, answers[part.stratum.name])
            if (whole := self.census.get(Cell(part.stratum.name))) is None
            else replace(part, labeled=whole[0], positive=whole[1], declined=whole[2])
            for part in self.strata
        ]

    def by_block(
        self, label_of: LabelOf = current_label, *, blocks: int = 1
    ) -> list[list[StratumTally]]:
        """Count the labels per stratum up to each block of the round; the last has all items.

        ``planned`` is the number of items up to the block. A round with a census has one block.
        """
        if self.censuses:
            return [self.counts(label_of)]
        # numpy takes a tenth of a second
        from monitor.stats.detection.blocks import prefix_sizes  # noqa: PLC0415

        answers = self._by_stratum(self.answers_by(label_of))
        planned = [part.planned for part in self.strata]
        return [
            [
                _counted(replace(part, planned=n), answers[part.stratum.name][:n])
                for part, n in zip(self.strata, sizes, strict=True)
            ]
            for sizes in prefix_sizes(planned, blocks).tolist()
        ]

    def settled(self, waiting: Collection[str]) -> RoundLabels:
        """Drop the answers to ``waiting`` items and to items an adjudicator may still decide."""
        return self.unanswered(
            {
                item
                for item, of in self.said.items()
                if is_unsettled(of, self.adjudicator, waits=item in waiting)
            }
        )

    def unanswered(self, ids: Collection[str]) -> RoundLabels:
        """Return these labels without the answers to some items."""
        return replace(self, said={item: of for item, of in self.said.items() if item not in ids})

    def without(self, ids: Collection[str]) -> RoundLabels:
        """Return these labels without some items, as if these had not been drawn."""
        excluded = Counter(item.stratum for item in self.items if item.id in ids)
        strata = [
            replace(part, planned=part.planned - excluded[part.stratum.name])
            for part in self.strata
        ]
        items = tuple(item for item in self.items if item.id not in ids)
        return replace(self, strata=tuple(strata), items=items)

    def several_answers(self) -> list[SeveralAnswers]:
        """Return items with answers of 1 or 0 by several people, without the adjudicator, by id."""
        results = []
        for item_id, reported in sorted(self.said.items()):
            answers = {
                name: answer
                for name, answer in current_answers(reported).items()
                if name != self.adjudicator and answer is not Answer.CANNOT_TELL
            }
            if len(answers) > 1:
                results.append(SeveralAnswers(item_id, self._stratum_of[item_id], answers))
        return results

    def disputed(self) -> dict[str, set[str]]:
        """Return the items with undecided contradictions between people, by stratum."""
        result: defaultdict[str, set[str]] = defaultdict(set)
        for item_id, answer in self.said.items():
            if is_disputed(answer, self.adjudicator):
                result[self._stratum_of[item_id]].add(item_id)
        return dict(result)

    def first_answers(self) -> list[datetime]:
        """Return the times of the first answers to answered items, ascending."""
        answer_times = (
            [s.at for s in answer if s.kind is LabelKind.GIVEN] for answer in self.said.values()
        )
        return sorted(min(times) for times in answer_times if times)

    @cached_property
    def _stratum_of(self) -> dict[str, str]:
        return {item.id: item.stratum for item in self.items}

    def _by_stratum(self, labels: Mapping[str, Answer]) -> dict[str, list[Answer | None]]:
        result: defaultdict[str, list[Answer | None]] = defaultdict(list)
        for item in self.items:
            result[item.stratum].append(labels.get(item.id))
        return result

    def answers_by(self, label_of: LabelOf) -> dict[str, Answer]:
        """Return the answer that counts by ``label_of``, for each item that has one."""
        result = {
            item: label_of(reported, self.adjudicator) for item, reported in self.said.items()
        }
        return {item: answer for item, answer in result.items() if answer is not None}


def count_labels(keyed: Iterable[tuple[Key, bool]]) -> dict[Key, tuple[int, int]]:
    """Count labels by key, from pairs of key and whether positive; returns (all, positive)."""
    counts: dict[Key, tuple[int, int]] = {}
    for key, positive in keyed:
        before = counts.get(key, (0, 0))
        counts[key] = before[0] + 1, before[1] + positive
    return counts


def read_labels(connection: Connection, round_: Round) -> RoundLabels:
    """Read the labels of a round that was read in the same transaction."""
    return read_all_labels(connection, [round_])[round_.id]


def read_all_labels(connection: Connection, rounds: Sequence[Round]) -> dict[int, RoundLabels]:
    """Read the labels of some rounds that were read in the same transaction, by round."""
    ids = [round_.id for round_ in rounds]
    with_checks = [one.id for one in rounds if checks_of(one.settings.labeling)]
    checked = in_chunks(connection, with_checks, check_store.checked_items)
    strata = in_chunks(connection, ids, frame_store.read_all_strata)
    drawn = in_chunks(connection, ids, _items)
    reported = in_chunks(connection, ids, label_store.all_statements)
    whole = [round_.id for round_ in rounds if round_.settings.counted_whole]
    censuses = in_chunks(connection, whole, census_store.read_censuses)
    result = {
        round_.id: RoundLabels(
            label_revision=round_.label_revision,
            adjudicator=round_.settings.adjudicator,
            strata=tuple(strata.get(round_.id, ())),
            items=tuple(drawn.get(round_.id, ())),
            said=reported.get(round_.id, {}),
            censuses=censuses.get(round_.id, {}),
        )
        for round_ in rounds
    }
    return result | {each: _with_checks(result[each], items) for each, items in checked.items()}


def _with_checks(labels: RoundLabels, checked: frozenset[str]) -> RoundLabels:
    """Separate the answers of people to checked items from the labels of the column."""
    statements = dict(labels.said)
    for item in checked & statements.keys():
        statements[item] = [one for one in statements[item] if one.annotator == COLUMN]
    drawn = [one for one in labels.items if Cell(one.stratum) not in labels.census]
    ids = {one.id for one in drawn}
    checks = [
        CheckedItem(one.id, one.stratum, labels.said.get(one.id, ()))
        for one in labels.items
        if one.id in checked
    ]
    answered = {item: of for item, of in statements.items() if of and item in ids}
    return replace(labels, items=tuple(drawn), said=answered, checks=tuple(checks))


def read_recurring(connection: Connection, rounds: Sequence[Round]) -> dict[int, frozenset[str]]:
    """Return the items that an earlier closed round of the monitor also drew, by round."""
    return in_chunks(connection, [round_.id for round_ in rounds], _recurring)


def _recurring(connection: Connection, round_ids: Sequence[int]) -> dict[int, frozenset[str]]:
    earlier, same_item = rounds_table.alias("before"), items.alias("asked")
    this = rounds_table
    closed_first = or_(
        this.c.state != RoundState.CLOSED,
        earlier.c.closed_at < this.c.closed_at,
        (earlier.c.closed_at == this.c.closed_at) & (earlier.c.id < this.c.id),
    )
    is_recurring = (
        select(same_item.c.id)
        .join(earlier, earlier.c.id == same_item.c.round_id)
        .where(same_item.c.id == items.c.id, same_item.c.round_id != items.c.round_id)
        .where(earlier.c.monitor_id == this.c.monitor_id)
        .where(earlier.c.state == RoundState.CLOSED, closed_first)
        .correlate(items, this)
        .exists()
    )
    query = (
        select(items.c.round_id, items.c.id)
        .join(this, this.c.id == items.c.round_id)
        .where(items.c.round_id.in_(round_ids), is_recurring)
    )
    read = by_first(connection, query)
    return {round_id: frozenset(read.get(round_id, ())) for round_id in round_ids}


def _items(connection: Connection, round_ids: Sequence[int]) -> dict[int, list[DrawnItem]]:
    query = (
        select(
            *items.c["round_id", "id", "stratum", "score", "segments"],
            items.c.challenged,
        )
        .where(items.c.round_id.in_(round_ids))
        .order_by(items.c.round_id, items.c.stratum, items.c.order)
    )
    result: defaultdict[int, list[DrawnItem]] = defaultdict(list)
    for round_id, item, stratum, score, segments, *more in connection.execute(query):
        own = dict(segments or {})
        group = own.pop(frame_store.GROUP, None)
        result[round_id].append(DrawnItem(item, stratum, score, own, group, *more))
    return result


def _counted(part: StratumTally, answers: Sequence[Answer | None]) -> StratumTally:
    positive = answers.count(Answer.POSITIVE)
    labeled = positive + answers.count(Answer.NEGATIVE)
    declined = answers.count(Answer.CANNOT_TELL)
    return replace(part, labeled=labeled, positive=positive, declined=declined)
