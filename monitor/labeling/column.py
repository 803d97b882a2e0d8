"""Labels that arrive by themselves: the truth as a column of a file, known some time later."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer, Collected, LabelEvent, LabelKind, Refusal
from monitor.domain.refused_setting import SettingRefused
from monitor.domain.setting_types import Duration
from monitor.domain.settings import Labeling
from monitor.domain.time_limit import LIMIT, within
from monitor.domain.values import listed
from monitor.files.relations import (
    TEXTS,
    TIMES,
    DataFiles,
    all_texts,
    check_table,
    kind_of,
    opened,
    quoted,
)
from monitor.files.stamps import stamps_of
from monitor.labeling.shared_truths import FoundTruth, shared_by

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from monitor.domain.model import Task
    from monitor.domain.ports import Clock
    from monitor.files.relations import OpenTable

Value = StrictBool | StrictInt | StrictFloat | StrictStr
Values = Value | tuple[Value, ...]

_TO_LOOK = timedelta(seconds=30)
"""To see whether files changed; without an answer they are read, for which there is a limit."""

_YES: Values = (1, True)
_NO: Values = (0, False)
_EXAMPLES = 3  # ids that show how they are written


class ColumnSettings(Labeling):
    """Where the truth is, and what it means that there is none.

    A row for an item answers it: 1 where ``value`` is one of ``positive``, else 0. Where
    ``positive`` is 1, true or both only 0/false means 0, and other values are refused; with an
    own ``positive`` any other value means 0 unless ``negative`` lists those that do.

    An item without a row (or with an empty value) waits; with ``missing_means: negative`` it is
    0 once ``matures`` has passed since its prediction. ``time`` names when a row became known:
    of several rows for an item the newest counts, and without it contradicting rows are refused.

    ``deadline`` is ``matures`` unless given: a round that closed earlier would hold the answers
    that come fast, which are not a random part of all.
    """

    kind: Literal["column"] = "column"
    path: str | tuple[str, ...]
    table: str | None = None
    id: str
    value: str
    positive: Values = _YES
    negative: Values | None = None
    matures: Duration
    missing_means: Literal["negative", "unanswered"] = "unanswered"
    time: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _deadline_is_maturity(cls, value: object) -> object:
        if isinstance(value, dict) and "deadline" not in value and "matures" in value:
            return {**value, "deadline": value["matures"]}
        return value

    @model_validator(mode="after")
    def _possible(self) -> ColumnSettings:
        check_table(kind_of(self.paths), self.table)
        if self.deadline < self.matures:
            message = (
                f"{self.deadline} is before labels mature ({self.matures}); the answers "
                "that come early are not a random part of all, so leave deadline out"
            )
            raise SettingRefused(setting="deadline", why=message)
        both = set(all_texts(self.positive)) & set(all_texts(self.negative or ()))
        if both:
            message = f"{min(both)!r} is also in positive; a value means one of them"
            raise SettingRefused(setting="negative", why=message)
        return self

    @model_validator(mode="after")
    def _nobody_is_asked(self) -> ColumnSettings:
        for name in ("overlap", "adjudicator"):
            if name in self.model_fields_set:
                message = "labels from a column have no annotators; leave it out"
                raise SettingRefused(setting=name, why=message)
        return self

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths, also where one was given."""
        return (self.path,) if isinstance(self.path, str) else self.path

    @property
    def negatives(self) -> frozenset[str] | None:
        """Texts that mean 0; None where all that is not positive does."""
        if self.negative is not None:
            return frozenset(all_texts(self.negative))
        is_usual = set(all_texts(self.positive)) <= set(all_texts(_YES))
        return frozenset(all_texts(_NO)) if is_usual else None


@dataclass(frozen=True, slots=True)
class Truth:
    """The truth about some items: of how many, how many are positive; ids that it has."""

    known: int
    positive: int
    examples: tuple[str, ...]


def _now() -> datetime:
    return datetime.now(UTC)


class ColumnLabeler:
    """A `Labeler` that reads the truth for the items asked for, in one scan.

    Labelers of the same columns of the same files share it where they are told ahead (`expect`).

    Each reading returns all that is true now: an item without an answer is withdrawn, which the
    store ignores unless there was one before.

    Parameters
    ----------
    settings
        What the config says.
    base_folder
        Where relative paths start: the folder of the config file.
    clock
        Decides whether an item has matured.
    """

    name = "column"
    asks_people = False

    def __init__(
        self, settings: ColumnSettings, base_folder: Path | str = ".", *, clock: Clock = _now
    ) -> None:
        self.settings = settings
        self.files = DataFiles(
            settings.paths, Path(base_folder), settings.table, refused=LabelsRefused
        )
        self._clock = clock
        self._positives = frozenset(all_texts(settings.positive))
        self._shared = shared_by(self.reading)

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Do nothing: nobody is asked."""

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        """Return the answer of every task, unless neither files nor maturity changed.

        Raises
        ------
        LabelsRefused
            If no value that there is means anything: then it is not the row that is wrong.
        """
        if not tasks:
            return Collected(cursor=cursor, anew=False)
        try:
            return within(LIMIT, self.place, lambda: self._collect(tasks, cursor))
        finally:
            self._shared.asked()

    @property
    def reading(self) -> str:
        """What is read: labelers that have it in common find the same."""
        settings = self.settings
        read = [self.place, self.files.table, settings.id, settings.value, settings.time]
        return json.dumps(read)

    def expect(self, items: Collection[str], askers: int) -> None:
        """Read these items too when one of so many labelers of this reading asks next."""
        self._shared.expect(items, askers)

    def _collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        now = self._state(tasks)
        if now == cursor:
            return Collected(cursor=cursor, anew=False)
        items = {task.item_id for task in tasks.values()}
        truths = self._shared.of(items, stamps_of(self.files.found()), self._truths)
        answers, refused = self._answers(tasks, truths)
        # No answer at all: then the column or its values may be named wrongly, not a row be wrong.
        if refused and not any(answers.values()):
            self._refuse_unknown(truths)
        events = tuple(self._event(key, answer) for key, answer in answers.items())
        return Collected(events, tuple(refused), now)

    def _answers(
        self, tasks: Mapping[str, Task], truths: Mapping[str, Sequence[FoundTruth]]
    ) -> tuple[dict[str, Answer | None], list[Refusal]]:
        """Answer of each task, None where there is none, and the rows that mean nothing."""
        answers: dict[str, Answer | None] = dict.fromkeys(tasks)
        refused: list[Refusal] = []
        for key, task in tasks.items():
            try:
                answers[key] = self._answer(task, truths.get(task.item_id, []))
            except ValueError as problem:
                refused.append(Refusal(f"{self.files}, id {task.item_id}", str(problem)))
        return answers, refused

    def _event(self, key: str, answer: Answer | None) -> LabelEvent:
        kind = LabelKind.WITHDRAWN if answer is None else LabelKind.GIVEN
        return LabelEvent(key, self.name, answer, kind=kind)

    def _refuse_unknown(self, truths: Mapping[str, Sequence[FoundTruth]]) -> None:
        values = Counter(truth.value for of_item in truths.values() for truth in of_item)
        if not any(self._means_something(value) for value in values):
            raise LabelsRefused(self.unknown_sentence(values))

    def close(self, round_name: str) -> None:
        """Do nothing: nothing was shown."""

    @property
    def place(self) -> str:
        """The files with the truth."""
        return f"{self.files.folder}: {self.files}"

    def state(self) -> str:
        """Text that differs between states of the files, found without reading them."""
        return within(_TO_LOOK, self.place, lambda: self._state({}))

    def forget(self, round_name: str, keys: Collection[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Find nothing: nothing was shown."""
        return ()

    def columns(self) -> Mapping[str, str]:
        """Return every column with its type; refuse when one that the config names is missing."""
        return within(LIMIT, self.place, self._columns)

    def _columns(self) -> Mapping[str, str]:
        with opened(self.files) as table:
            self._need(table)
            return dict(table.types)

    def unknown_values(self) -> tuple[dict[str, int], int]:
        """Count the rows of each value that means nothing, and all rows that have a value."""
        with opened(self.files) as table:
            self._need(table)
            value = _value_text(self.settings.value)
            rows = table.rows(
                f"select {value}, count(*) from {table.relation} "  # noqa: S608
                f"where {value} is not null group by 1 order by 2 desc, 1"
            )
        unknown = {text: int(count) for text, count in rows if not self._means_something(text)}
        return unknown, sum(int(count) for _, count in rows)

    def unknown_sentence(self, values: Mapping[str, int]) -> str:
        """Name the values that mean nothing, and where to list them."""
        return (
            f"{self.files}: column {self.settings.value!r} (labeling.value) holds "
            f"{listed(values)}, which the config does not name; list each value under "
            "labeling.positive or labeling.negative"
        )

    def truth_of(self, ids: Sequence[str]) -> Truth:
        """Summarise what is known of some items, with examples of ids."""
        known = self._truths(ids)
        values = [truth.value for truths in known.values() for truth in truths[:1]]
        with opened(self.files) as table:
            item_id = table.id_text(self.settings.id, "labeling.id")
            rows = table.rows(
                f"select distinct {item_id} from {table.relation} "  # noqa: S608
                f"where {item_id} is not null order by 1 limit {_EXAMPLES}"
            )
        positive = sum(value in self._positives for value in values)
        return Truth(len(known), positive, tuple(row[0] for row in rows))

    def _means_something(self, text: str) -> bool:
        try:
            self._meaning(text)
        except ValueError:
            return False
        return True

    def _need(self, table: OpenTable) -> None:
        table.need(self.settings.value, "labeling.value")
        table.id_text(self.settings.id, "labeling.id")
        time = self.settings.time
        if time is not None:
            kind = table.need(time, "labeling.time")
            if not (TEXTS.fullmatch(kind) or TIMES.fullmatch(kind)):
                raise table.refuse_type(time, "labeling.time", "times")

    def _truths(self, ids: Iterable[str]) -> dict[str, list[FoundTruth]]:
        settings, wanted = self.settings, sorted(ids)
        with opened(self.files) as table:
            self._need(table)
            item_id = table.id_text(settings.id, "labeling.id")
            value = _value_text(settings.value)
            known = "null" if settings.time is None else quoted(settings.time)
            known = f"epoch_us(try_cast({known} as timestamptz))"
            rows = table.rows(
                f"select id, value, max(known) from (select {item_id} as id, "  # noqa: S608
                f"{value} as value, {known} as known from {table.relation} "
                f"where {table.may_be(settings.id, wanted)}) "
                "where value is not null and id in (select unnest($ids::varchar[])) "
                "group by id, value order by id, value",
                {"ids": wanted},
            )
        truths: dict[str, list[FoundTruth]] = {}
        for item, text, at in rows:
            truths.setdefault(item, []).append(FoundTruth(text, at or 0))
        return truths

    def _answer(self, task: Task, truths: Sequence[FoundTruth]) -> Answer | None:
        """Return what the rows of one item mean; a ValueError has the reason if nothing."""
        if not truths:
            return Answer.NEGATIVE if self._matured(task) else None
        values = self._newest_values(truths)
        answers = {self._meaning(value) for value in values}
        if len(answers) > 1:
            raise ValueError(self._contradiction(values))
        return answers.pop()

    def _newest_values(self, truths: Sequence[FoundTruth]) -> list[str]:
        newest = max(truth.known for truth in truths)
        is_timed = self.settings.time is not None
        return [truth.value for truth in truths if not is_timed or truth.known == newest]

    def _contradiction(self, values: Sequence[str]) -> str:
        listed_values = ", ".join(map(repr, values))
        way_out = "" if self.settings.time else "; name labeling.time so that the newest counts"
        return f"several rows contradict one another ({listed_values}){way_out}"

    def _meaning(self, text: str) -> Answer:
        if text in self._positives:
            return Answer.POSITIVE
        if text == Answer.CANNOT_TELL:
            return Answer.CANNOT_TELL
        negatives = self.settings.negatives
        if negatives is None or text in negatives:
            return Answer.NEGATIVE
        message = (
            f"value {text[:80]!r} of column {self.settings.value!r} is neither positive nor "
            "negative; list it under labeling.positive or labeling.negative"
        )
        raise ValueError(message)

    def _matured(self, task: Task) -> bool:
        if self.settings.missing_means != "negative" or task.predicted_before is None:
            return False
        return self._clock() >= task.predicted_before + self.settings.matures

    def _state(self, tasks: Mapping[str, Task]) -> str:
        """Text that differs between states of the files, tasks and maturity; no row is read.

        The settings count too: one that is corrected gives the same rows another meaning.
        """
        files = stamps_of(self.files.found())
        matured = [[key, self._matured(task)] for key, task in sorted(tasks.items())]
        settings = self.settings.model_dump_json()
        return hashlib.sha256(json.dumps([files, matured, settings]).encode()).hexdigest()


def _value_text(column: str) -> str:
    return f"nullif(trim(cast({quoted(column)} as varchar)), '')"
