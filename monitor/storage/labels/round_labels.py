"""The labels of a round as they stand: read once, and handed on to all that count them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from sqlalchemy import Connection, case, or_, select

from monitor.domain.census import Cell
from monitor.domain.labels import Statement, current_answers, current_label, is_disputed
from monitor.domain.model import Answer, LabelKind
from monitor.domain.state import RoundState
from monitor.storage.database import in_chunks
from monitor.storage.labels import census_store, label_store
from monitor.storage.samples import frame_store
from monitor.storage.tables import items, strata
from monitor.storage.tables import rounds as rounds_table

if TYPE_CHECKING:
    from monitor.domain.census import Census
    from monitor.storage.labels.label_store import LabelOf
    from monitor.storage.rounds.round_store import Round
    from monitor.storage.samples.frame_store import StratumTally


@dataclass(frozen=True, slots=True)
class DrawnItem:
    """An item of a round's sample, with its values of the segment columns.

    ``wave`` is 1, or 2 where it was handed out after answers to others. ``challenged`` is whether
    the challenger flags it; None if it made no decision.
    """

    id: str
    stratum: str
    score: float | None
    segments: Mapping[str, str]
    wave: int = 1
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
    """The answers to one item, 1 or 0, by annotator; the adjudicator's is not among them."""

    item_id: str
    stratum: str
    answers: Mapping[str, Answer]


@dataclass(frozen=True)
class RoundLabels:
    """All statements about a round's items up to a label revision, and the sample itself.

    ``items`` are in the order of the draw; ``said`` has the statements about each item that
    anybody spoke of, in the order of acceptance; ``adjudicator`` decides where people disagree.
    ``censuses`` has the strata whose labels are all counted, of which no item is drawn, by part.
    """

    label_revision: int
    adjudicator: str | None
    strata: tuple[StratumTally, ...]
    items: tuple[DrawnItem, ...]
    said: Mapping[str, Sequence[Statement]]
    censuses: Mapping[int, Census] = field(default_factory=dict)

    @cached_property
    def census(self) -> dict[Cell, tuple[int, int, int]]:
        """Labeled, positive and declined items of the strata whose labels are all counted."""
        return {cell: one.tally(cell) for one in self.censuses.values() for cell in one.cells}

    @cached_property
    def current(self) -> dict[str, Answer]:
        """The current label of each item that has one."""
        return self.answers_by(current_label)

    @cached_property
    def labeled(self) -> list[LabeledItem]:
        """The items that are labeled 1 or 0."""
        return [
            LabeledItem(item.id, item.stratum, item.score, answer is Answer.POSITIVE)
            for item in self.items
            if (answer := self.current.get(item.id)) in {Answer.POSITIVE, Answer.NEGATIVE}
        ]

    def counts(self, label_of: LabelOf = current_label) -> list[StratumTally]:
        """Count the labels per stratum, in the strata's order.

        ``label_of`` says which answer to an item counts; the current label if not given.
        """
        labels = self.current if label_of is current_label else self.answers_by(label_of)
        answers = self._by_stratum(labels)
        return [
            _counted(part, answers[part.stratum.name])
            if (whole := self.census.get(Cell(part.stratum.name))) is None
            else replace(part, labeled=whole[0], positive=whole[1], declined=whole[2])
            for part in self.strata
        ]

    def by_wave(
        self, label_of: LabelOf = current_label, *, blocks: int = 1
    ) -> list[list[list[StratumTally]]]:
        """Count the labels per stratum of each wave that was handed out, up to each of its blocks.

        ``planned`` are the items up to the block; the last block ends with the wave. Strata that
        are counted whole are of the first wave; then it is one block.
        """
        waves = sorted({item.wave for item in self.items} | {1})
        if self.censuses:
            return [[self._of_wave(wave).counts(label_of)] for wave in waves]
        labels = self.answers_by(label_of)
        return [self._of_wave(wave)._by_block(labels, blocks) for wave in waves]

    def _by_block(self, labels: Mapping[str, Answer], blocks: int) -> list[list[StratumTally]]:
        # numpy takes a tenth of a second
        from monitor.stats.detection.blocks import prefix_sizes  # noqa: PLC0415

        answers = self._by_stratum(labels)
        planned = [part.planned for part in self.strata]
        return [
            [
                _counted(replace(part, planned=n), answers[part.stratum.name][:n])
                for part, n in zip(self.strata, sizes, strict=True)
            ]
            for sizes in prefix_sizes(planned, blocks).tolist()
        ]

    def _of_wave(self, wave: int) -> RoundLabels:
        items = tuple(item for item in self.items if item.wave == wave)
        sizes = Counter(item.stratum for item in items)
        whole = self.census if wave == 1 else {}
        strata = tuple(
            part
            if Cell(part.stratum.name) in whole
            else replace(part, planned=sizes[part.stratum.name])
            for part in self.strata
        )
        censuses = self.censuses if wave == 1 else {}
        return replace(self, items=items, strata=strata, censuses=censuses)

    def without(self, ids: Collection[str]) -> RoundLabels:
        """Leave out some items, as if they had not been drawn."""
        excluded = Counter(item.stratum for item in self.items if item.id in ids)
        return replace(
            self,
            strata=tuple(
                replace(part, planned=part.planned - excluded[part.stratum.name])
                for part in self.strata
            ),
            items=tuple(item for item in self.items if item.id not in ids),
        )

    def several_answers(self) -> list[SeveralAnswers]:
        """Find the items that two people or more answered with 1 or 0, in the order of their ids.

        The adjudicator is not among them.
        """
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
        """Find items on which people contradict each other and nobody has decided, by stratum."""
        result: defaultdict[str, set[str]] = defaultdict(set)
        for item_id, answer in self.said.items():
            if is_disputed(answer, self.adjudicator):
                result[self._stratum_of[item_id]].add(item_id)
        return dict(result)

    def first_answers(self) -> list[datetime]:
        """Time of the first answer to each item that anybody answered, ascending."""
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
        """Choose the answer that counts for each item that has one."""
        result = {
            item: label_of(reported, self.adjudicator) for item, reported in self.said.items()
        }
        return {item: answer for item, answer in result.items() if answer is not None}


def read_labels(connection: Connection, round_: Round) -> RoundLabels:
    """Read the labels of a round that was read in the same transaction."""
    return read_all_labels(connection, [round_])[round_.id]


def read_all_labels(connection: Connection, rounds: Sequence[Round]) -> dict[int, RoundLabels]:
    """Read the labels of some rounds that were read in the same transaction, by round."""
    ids = [round_.id for round_ in rounds]
    strata = in_chunks(connection, ids, frame_store.read_all_strata)
    drawn = in_chunks(connection, ids, _items)
    reported = in_chunks(connection, ids, label_store.all_statements)
    whole = [round_.id for round_ in rounds if round_.settings.counted_whole]
    censuses = in_chunks(connection, whole, census_store.read_censuses)
    return {
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


def read_recurring(connection: Connection, rounds: Sequence[Round]) -> dict[int, frozenset[str]]:
    """Find the items of some rounds that another round of the monitor had asked about, by round.

    That is a round, of any history, that had closed before this one did; of one that has not
    closed yet, any that has.
    """
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
        .where(
            same_item.c.id == items.c.id,
            same_item.c.round_id != items.c.round_id,
            earlier.c.monitor_id == this.c.monitor_id,
            earlier.c.state == RoundState.CLOSED,
            closed_first,
        )
        .correlate(items, this)
        .exists()
    )
    query = (
        select(items.c.round_id, items.c.id)
        .join(this, this.c.id == items.c.round_id)
        .where(items.c.round_id.in_(round_ids), is_recurring)
    )
    result: defaultdict[int, set[str]] = defaultdict(set)
    for row in connection.execute(query):
        result[row.round_id].add(row.id)
    return {round_id: frozenset(result[round_id]) for round_id in round_ids}


def _items(connection: Connection, round_ids: Sequence[int]) -> dict[int, list[DrawnItem]]:
    query = (
        select(
            *items.c["round_id", "id", "stratum", "score", "segments", "challenged"],
            case((items.c.order >= strata.c.first_wave, 2), else_=1).label("wave"),
        )
        .join_from(items, strata)
        .where(items.c.round_id.in_(round_ids))
        .order_by(items.c.round_id, items.c.stratum, items.c.order)
    )
    result: defaultdict[int, list[DrawnItem]] = defaultdict(list)
    for row in connection.execute(query):
        item = DrawnItem(
            row.id, row.stratum, row.score, row.segments or {}, row.wave, row.challenged
        )
        result[row.round_id].append(item)
    return result


def _counted(part: StratumTally, answers: Sequence[Answer | None]) -> StratumTally:
    positive = answers.count(Answer.POSITIVE)
    labeled = positive + answers.count(Answer.NEGATIVE)
    declined = answers.count(Answer.CANNOT_TELL)
    return replace(part, labeled=labeled, positive=positive, declined=declined)
