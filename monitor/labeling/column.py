"""Labels that arrive by themselves: the truth as a column of a file, known some time later."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from monitor.datafiles import (
    TEXTS,
    TIMES,
    DataFiles,
    all_texts,
    check_table,
    kind_of,
    opened,
    quoted,
)
from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer, Collected, LabelEvent, LabelKind, Refusal
from monitor.domain.settings import Duration, Labeling

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from monitor.datafiles import OpenTable
    from monitor.domain.model import Task
    from monitor.domain.ports import Clock

Value = StrictBool | StrictInt | StrictFloat | StrictStr
Values = Value | tuple[Value, ...]

_YES: Values = (1, True)
_NO: Values = (0, False)


class ColumnSettings(Labeling):
    """Where the truth is, and what it means that there is none.

    A row for an item answers it: 1 where ``value`` is one of ``positive``, else 0. Where
    ``positive`` is left at 1/true only 0/false means 0, and other values are refused; with an
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
                f"deadline: {self.deadline} is before labels mature ({self.matures}); the answers "
                "that come early are not a random part of all, so leave deadline out"
            )
            raise ValueError(message)
        both = set(all_texts(self.positive)) & set(all_texts(self.negative or ()))
        if both:
            message = f"negative: {min(both)!r} is also in positive; a value means one of them"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _nobody_is_asked(self) -> ColumnSettings:
        for name in ("overlap", "adjudicator"):
            if name in self.model_fields_set:
                message = f"{name}: labels from a column have no annotators; leave it out"
                raise ValueError(message)
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
        return frozenset(all_texts(_NO)) if self.positive == _YES else None


@dataclass(frozen=True, slots=True)
class _Truth:
    """A value found for an item, and when it became known (microseconds; 0: nobody says)."""

    value: str
    known: int


def _now() -> datetime:
    return datetime.now(UTC)


class ColumnLabeler:
    """A `Labeler` that reads the truth for the items asked for, in one scan.

    Each reading tells all that is true now: an item without an answer is withdrawn, which the
    store ignores unless there was one before.

    Parameters
    ----------
    settings
        What the config says.
    base_folder
        Where relative paths start: the folder of the config file.
    clock
        Tells whether an item has matured.
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

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Do nothing: nobody is asked."""

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        """Tell the answer of every task, unless neither files nor maturity changed."""
        if not tasks:
            return Collected(cursor=cursor, anew=False)
        now = self._state(tasks)
        if now == cursor:
            return Collected(cursor=cursor, anew=False)
        truths = self._truths({task.item_id for task in tasks.values()})
        events: list[LabelEvent] = []
        refused: list[Refusal] = []
        for key, task in tasks.items():
            try:
                answer = self._answer(task, truths.get(task.item_id, []))
            except ValueError as problem:
                refused.append(Refusal(f"{self.files}, id {task.item_id}", str(problem)))
                answer = None
            kind = LabelKind.WITHDRAWN if answer is None else LabelKind.GIVEN
            events.append(LabelEvent(key, self.name, answer, kind=kind))
        return Collected(tuple(events), tuple(refused), now)

    def close(self, round_name: str) -> None:
        """Do nothing: nothing was shown."""

    @property
    def place(self) -> str:
        """The files with the truth."""
        return f"{self.files.folder}: {self.files}"

    def state(self) -> str:
        """Tell one state of the files from another, without reading them."""
        return self._state({})

    def forget(self, round_name: str, keys: Collection[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Find nothing: nothing was shown."""
        return ()

    def columns(self) -> Mapping[str, str]:
        """Return every column with its type; refuse when one that the config names is missing."""
        with opened(self.files) as table:
            self._need(table)
            return dict(table.types)

    def _need(self, table: OpenTable) -> None:
        table.need(self.settings.value, "labeling.value")
        table.id_text(self.settings.id, "labeling.id")
        time = self.settings.time
        if time is not None:
            kind = table.need(time, "labeling.time")
            if not (TEXTS.fullmatch(kind) or TIMES.fullmatch(kind)):
                raise table.refuse_type(time, "labeling.time", "times")

    def _truths(self, ids: Iterable[str]) -> dict[str, list[_Truth]]:
        settings = self.settings
        with opened(self.files) as table:
            self._need(table)
            item_id = table.id_text(settings.id, "labeling.id")
            value = f"nullif(trim(cast({quoted(settings.value)} as varchar)), '')"
            known = "null" if settings.time is None else quoted(settings.time)
            known = f"epoch_us(try_cast({known} as timestamptz))"
            rows = table.rows(
                f"select id, value, max(known) from (select {item_id} as id, "  # noqa: S608
                f"{value} as value, {known} as known from {table.relation}) "
                "where value is not null and id in (select unnest($ids::varchar[])) "
                "group by id, value order by id, value",
                {"ids": sorted(ids)},
            )
        truths: dict[str, list[_Truth]] = {}
        for item, text, at in rows:
            truths.setdefault(item, []).append(_Truth(text, at or 0))
        return truths

    def _answer(self, task: Task, truths: Sequence[_Truth]) -> Answer | None:
        """Say what the rows of one item mean; a ValueError says why they mean nothing."""
        if not truths:
            return Answer.NEGATIVE if self._matured(task) else None
        if self.settings.time is not None:
            newest = max(truth.known for truth in truths)
            truths = [truth for truth in truths if truth.known == newest]
        answers = {self._meaning(truth.value) for truth in truths}
        if len(answers) > 1:
            found = ", ".join(repr(truth.value) for truth in truths)
            way_out = "" if self.settings.time else "; name labeling.time so that the newest counts"
            message = f"several rows contradict one another ({found}){way_out}"
            raise ValueError(message)
        return answers.pop()

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
        """Tell one state of the files, tasks and maturity from another, without reading rows."""
        files = []
        for path in self.files.found():
            stamp = Path(path).stat()
            files.append([path, stamp.st_size, stamp.st_mtime_ns])
        matured = [[key, self._matured(task)] for key, task in sorted(tasks.items())]
        return hashlib.sha256(json.dumps([files, matured]).encode()).hexdigest()
