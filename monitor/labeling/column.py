"""Labels from a column: a table in which the truth appears some time after the prediction."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    PrivateAttr,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)

from monitor.domain.census import OPEN, UNCLEAR, Census, JoinedItems, counted
from monitor.domain.errors import LabelsRefused, SettingRefused
from monitor.domain.id_forms import NearMiss, id_styles, other_forms
from monitor.domain.label_parts import COLUMN
from monitor.domain.model import (
    Answer,
    Collected,
    LabelEvent,
    LabelKind,
    Refusal,
    Stratum,
    Task,
    Window,
)
from monitor.domain.ports import Clock, HasTruths, Source, TruthTable, utc_now
from monitor.domain.setting_types import Duration
from monitor.domain.settings import Labeling
from monitor.domain.time_limit import T, within
from monitor.domain.truth import JoinedTruth, TruthColumns, TruthRow
from monitor.domain.values import DOUBTFUL, MISSING_MARKERS, Words, listed, unpunctuated
from monitor.files.relations import all_texts, check_table, kind_of

Value = StrictBool | StrictInt | StrictFloat | StrictStr
Values = Value | tuple[Value, ...]

_TO_CHECK = timedelta(seconds=30)  # Time limit of the check whether rows changed
NO_TRUTHS = (
    "this setting is missing: this kind of source reads no labels, so name the files that hold "
    "them (with kind sql, lake or spark the path may be left out, and table be named)"
)
_LISTS = "labeling.positive or labeling.negative"
_YES: Values = (1, True)
_NO: Values = (0, False)
MOST_BY_ID = 1_000_000  # Most items of a stratum read by id, at a kilobyte of memory each
OF_TODAY = (
    *("kind", "path", "table", "id", "value", "time"),
    *("passed_without_rows", "similar_ids"),  # A round that waits for one of these then continues
)
"""Settings that always come from the config, so that a wrong path or name can be corrected."""
_EXAMPLES = 3  # ids shown as examples of their spelling
_STYLED = 1000  # ids used to infer how the table spells ids


class ColumnSettings(Labeling):
    """Location of the truth, meaning of its values, and treatment of missing rows.

    The truth is in the files of ``path``. Without ``path``, ``source`` reads it, with the same
    access: ``table`` names its table as in ``source``, by default the predictions' table.

    A row labels its item 1 if ``value`` is one of ``positive``, else 0. If ``positive`` is 1, true
    or both (the default), only 0 or false mean 0, and other values are refused. With another
    ``positive``, all other values mean 0, or only those listed in ``negative``; a value that may
    mean a missing label (``unknown``, ``pending``, ``none``, ``?``) is refused until one of the
    lists has it. With ``unlisted_means: negative``, all other values mean 0 regardless of
    ``positive``, as for one class among many; a block of ``classes`` sets it.

    An item without a row (or with an empty value) waits. With ``missing_means: negative``, its
    label is 0 once ``matures`` has passed since its prediction. ``time`` is the column with the
    time when a row became known: the newest row of an item counts, and an empty value in it
    withdraws the label. Without ``time``, contradicting rows are refused.
    A word for a missing value (``nan``, ``None``, ``<NA>``, ``NULL``, ``N/A``) counts as empty
    unless ``positive`` or ``negative`` lists it.

    With ``missing_means: negative``, the truth must also cover items that were not flagged. If it
    has rows for flagged items only, rounds do not close, since no misses could be found and recall
    would always be 1; ``passed_without_rows: accept`` confirms that those items are negative.
    Rounds also do not close while the truth has an item's row only under a similar id (other case,
    zeros or blanks) that no prediction has; ``similar_ids: accept`` confirms that such rows belong
    to other items.

    Beside another labeler, ``checks`` is the number of random items per round that people also
    label, without seeing the column's labels. The labeler under ``checks`` asks them, else the
    labeler of the other class. Their answers measure the errors of the column, for estimates with
    the basis ``corrected``.

    ``deadline`` is ``matures`` by default. It cannot be earlier: labels that arrive early are not a
    random sample of all labels.

    A round stores the settings that decide its labels when it opens: ``matures``,
    ``missing_means``, ``positive``, ``negative`` and ``checks``. ``path`` and the names of columns
    always come from the current config.
    """

    kind: Literal["column"] = "column"
    path: str | tuple[str, ...] | None = None
    table: Annotated[str, Field(min_length=1)] | None = None
    id: str
    value: str
    positive: Values = _YES
    negative: Values | None = None
    unlisted_means: Literal["negative"] | None = None
    matures: Duration
    missing_means: Literal["negative", "unanswered"] = "unanswered"
    passed_without_rows: Literal["accept", "refuse"] = "refuse"
    similar_ids: Literal["accept", "refuse"] = "refuse"
    time: str | None = None
    checks: Annotated[int, Field(ge=1)] | None = None

    _today: ColumnSettings | None = PrivateAttr(default=None)

    def as_opened(self, opened_with: Mapping[str, Any]) -> ColumnSettings:
        """Return the settings that a round was opened with, with today's location and names.

        Values that the round's lists do not cover get their meaning from today's lists.
        """
        own = {name: value for name, value in self.own().items() if name not in OF_TODAY}
        frozen = {name: opened_with[name] for name in own if name in opened_with}
        if own == own | frozen:
            return self
        of_today = {name: getattr(self, name) for name in OF_TODAY}
        opened = ColumnSettings.model_validate({**of_today, **frozen})
        opened._today = self
        return opened

    @property
    def of_today(self) -> ColumnSettings | None:
        """The settings of the config, if a round was opened with others; else None."""
        return self._today

    @model_validator(mode="before")
    @classmethod
    def _deadline_is_maturity(cls, value: object) -> object:
        if isinstance(value, dict) and "deadline" not in value and "matures" in value:
            return {**value, "deadline": value["matures"]}
        return value

    @model_validator(mode="after")
    def _possible(self) -> ColumnSettings:
        if self.path is not None:
            check_table(kind_of(self.paths), self.table)
        if self.deadline < self.matures:
            message = (
                f"{self.deadline} is before labels mature ({self.matures}); the answers "
                "that come early are not a random sample, so remove deadline"
            )
            raise SettingRefused(setting="deadline", why=message)
        both = set(all_texts(self.positive)) & set(all_texts(self.negative or ()))
        if both:
            message = f"{min(both)!r} is also in positive; a value means one of them"
            raise SettingRefused(setting="negative", why=message)
        return self

    @model_validator(mode="after")
    def _needs_no_people(self) -> ColumnSettings:
        for name in ("overlap", "adjudicator"):
            if name in self.model_fields_set:
                message = "labels from a column have no annotators; remove it"
                raise SettingRefused(setting=name, why=message)
        return self

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths; empty if the truth is read by the source."""
        return (self.path,) if isinstance(self.path, str) else self.path or ()

    @property
    def columns(self) -> TruthColumns:
        """The columns of the truth."""
        return TruthColumns(self.table, self.id, self.value, self.time)

    @property
    def negatives(self) -> frozenset[str] | None:
        """Texts that mean 0; None if all texts that are not positive do."""
        if self.unlisted_means == "negative":
            return None
        if self.negative is not None:
            return frozenset(all_texts(self.negative))
        is_usual = set(all_texts(self.positive)) <= set(all_texts(_YES))
        return frozenset(all_texts(_NO)) if is_usual else None


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """Number of rows with a label, and of rows with doubtful values, by value.

    ``unknown`` values are neither positive nor negative, ``case_variants`` of a ``positive`` count
    as negative, ``missing`` are words for a missing value.
    """

    rows: int
    unknown: Mapping[str, int]
    case_variants: Mapping[str, int]
    missing: Mapping[str, int] = field(default_factory=dict)


class ValueMeanings:
    """Maps values to answers; ``missing`` are the words for a missing value that no list has."""

    def __init__(self, settings: ColumnSettings) -> None:
        self.positives = frozenset(all_texts(settings.positive))
        listed_texts = self.positives.union(all_texts(settings.negative or ()))
        self.missing = frozenset({"", *(MISSING_MARKERS - listed_texts)})
        self._negatives = settings.negatives
        self._positive_words = Words(self.positives)
        self._takes_unlisted = settings.unlisted_means == "negative"
        self._of_today = settings.of_today and ValueMeanings(settings.of_today)

    def of(self, text: str) -> Answer | None:
        """Return the answer of a value; None if it is neither positive nor negative.

        Without a list of negatives, a value that may mean a positive or a missing label is neither.
        """
        answer = self._of_own(text)
        return self._of_today.of(text) if answer is None and self._of_today else answer

    def _of_own(self, text: str) -> Answer | None:
        if text in self.positives:
            return Answer.POSITIVE
        if text == Answer.CANNOT_TELL:
            return Answer.CANNOT_TELL
        if self._negatives is None:
            return None if self._is_doubtful(text) else Answer.NEGATIVE
        return Answer.NEGATIVE if text in self._negatives else None

    def _is_doubtful(self, text: str) -> bool:
        if self._takes_unlisted:
            return False
        is_no_label = not DOUBTFUL.isdisjoint((text.casefold(), unpunctuated(text)))
        return is_no_label or self._positive_words.are_in(text)

    def counts(self, counted: Mapping[str, int]) -> ValueCounts:
        """Count all rows with a value, and rows with doubtful values by value."""
        missing = {text: counted[text] for text in counted if text in self.missing}
        rows = {text: count for text, count in counted.items() if text not in missing}
        unknown = {text: count for text, count in rows.items() if self.of(text) is None}
        negative = rows.keys() - unknown.keys() - self.positives
        similar = {text: rows[text] for text in negative if self._positive_words.are_in(text)}
        return ValueCounts(sum(rows.values()), unknown, similar, missing)


class ColumnLabeler:
    """A `Labeler` that reads the truth of the requested items in one scan.

    Each reading returns the current state: an item without an answer yields a withdrawal, which the
    store ignores unless the item had an answer.

    truths: The table of the truth.
    """

    name = COLUMN
    asks_people = False
    question = None

    def __init__(
        self, settings: ColumnSettings, truths: TruthTable, *, clock: Clock = utc_now
    ) -> None:
        self.settings = settings
        self.truths = truths
        self._clock = clock
        self._meanings = ValueMeanings(settings)

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Do nothing: nobody is asked."""

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        """Return the answer of every task, or nothing if neither rows nor maturity changed.

        Raises `LabelsRefused` if there are values, but none is positive or negative.
        """
        if not tasks:
            return Collected(cursor=cursor, was_read=False)
        return self._within(lambda: self._collect(tasks, cursor))

    def _collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        state = self.truths.state(self._clock())
        now = self._marker(tasks, state)
        if state is not None and now == cursor:
            return Collected(cursor=cursor, was_read=False)
        truths = self.truths.of({task.item_id for task in tasks.values()})
        if state is None:  # changes can only be detected from the rows themselves
            now = self._marker(tasks, sorted(truths.items()))
            if now == cursor:
                return Collected(cursor=cursor, was_read=False)
        answers, refused = self._answers(tasks, truths)
        # No answer at all: the column or its values may be misnamed, so no single row is wrong.
        if refused and not any(answers.values()):
            self._refuse_unknown(Counter(row.value for of in truths.values() for row in of))
        events = tuple(self._event(key, answer) for key, answer in answers.items())
        unmatched = frozenset(key for key, task in tasks.items() if not truths.get(task.item_id))
        return Collected(events, tuple(refused), now, unmatched=unmatched)

    def _answers(
        self, tasks: Mapping[str, Task], truths: Mapping[str, Sequence[TruthRow]]
    ) -> tuple[dict[str, Answer | None], list[Refusal]]:
        answers: dict[str, Answer | None] = dict.fromkeys(tasks)
        refused: list[Refusal] = []
        for key, task in tasks.items():
            try:
                rows = truths.get(task.item_id, [])
                answers[key] = self._meaning(rows, has_matured=self._matured(task))
            except ValueError as problem:
                refused.append(Refusal(f"{self.truths}, id {task.item_id}", str(problem)))
        return answers, refused

    def _event(self, key: str, answer: Answer | None) -> LabelEvent:
        kind = LabelKind.WITHDRAWN if answer is None else LabelKind.GIVEN
        return LabelEvent(key, self.name, answer, kind=kind)

    def _refuse_unknown(self, values: Mapping[str, int]) -> None:
        counts = self._meanings.counts(values)
        if sum(counts.unknown.values()) == counts.rows:
            raise LabelsRefused(self.unknown_sentence(counts.unknown))

    def census(
        self, source: Source, window: Window, strata: Sequence[Stratum], flags: Collection[bool]
    ) -> Census:
        """Count the labels of all items of some predicted classes, by stratum and segment."""
        state, has_matured = self.census_state(window), self._has_matured(window.end)
        refused, values = Counter[str](), Counter[str]()
        matched = 0
        columns, joined = self._joined(source, window, strata, flags)

        def own_items() -> Iterator[JoinedItems]:
            nonlocal matched
            for one in joined:
                if strata[one.stratum].flagged in flags:
                    matched += one.items if one.truths else 0
                    values.update(dict.fromkeys((row.value for row in one.truths), one.items))
                    yield one

        def answer_of(one: JoinedItems) -> str:
            try:
                return self._meaning(one.truths, has_matured=has_matured) or OPEN
            except ValueError as problem:
                refused[str(problem)] += one.items
                return UNCLEAR

        own_strata = [one for one in strata if one.flagged in flags]
        cells = counted(own_items(), (strata, own_strata), columns, answer_of)
        if refused and not any(answer in of for of in cells.values() for answer in Answer):
            self._refuse_unknown(values)
        where = f"{self.truths}, {window}"
        rows = (Refusal(where, why, rows=count) for why, count in refused.items())
        return Census(cells, state, tuple(rows), matched)

    def _joined(
        self, source: Source, window: Window, strata: Sequence[Stratum], flags: Collection[bool]
    ) -> tuple[Sequence[str], Iterable[JoinedItems]]:
        joined = None
        if isinstance(source, HasTruths):
            # An empty row with a time may be the newest of its item, so that no label counts.
            missing = self._meanings.missing if self.settings.time is None else ()
            joined = source.joined(window, strata, self.truths, missing)
        return self._by_id(source, window, strata, flags) if joined is None else joined

    def _by_id(
        self, source: Source, window: Window, strata: Sequence[Stratum], flags: Collection[bool]
    ) -> tuple[Sequence[str], Iterable[JoinedItems]]:
        """Read the truth of each item by id, if predictions and truth are in different engines.

        Raises `LabelsRefused` if a stratum has more than `MOST_BY_ID` items.
        """
        frame = source.scan(window, strata, MOST_BY_ID, "census")
        parts = [(h, each) for h, each in enumerate(frame.strata) if each.stratum.flagged in flags]
        most = max((part.size for _, part in parts), default=0)
        if most > MOST_BY_ID:
            message = (
                f"a stratum of {window} has {most:,} items, and {self.truths} is not where the "
                f"predictions are, so at most {MOST_BY_ID:,} can be counted; put the labels beside "
                "the predictions, or set sample.max_labels to a number"
            )
            raise LabelsRefused(message)
        of = self.truths.of([item.id for _, part in parts for item in part.candidates])
        return frame.segment_columns, (
            JoinedItems(index, item.segments, of.get(item.id, ()), 1)
            for index, part in parts
            for item in part.candidates
        )

    def census_state(self, window: Window) -> str:
        """Return a text that changes with the state of the table and with a window's maturity.

        If changes of rows cannot be detected cheaply, the text changes every hour.
        """
        now = self._clock()
        state = self.truths.state(now)
        state = f"{now:%Y-%m-%d %H}" if state is None else state
        return self._marker({}, [state, self._has_matured(window.end)])

    def positive_since(self, ids: Collection[str]) -> dict[str, datetime]:
        """Return the time when each item became known as positive, for items that have one."""
        rows = {} if self.settings.time is None else self._within(lambda: self.truths.of(ids))
        times = {
            item: [row.known for row in of if row.value in self._meanings.positives]
            for item, of in rows.items()
        }
        latest = self._latest()
        return {
            item: datetime.fromtimestamp(min(of_item) / 1_000_000, UTC)
            for item, of_item in times.items()
            if of_item and 0 < min(of_item) <= latest
        }

    def label_times(self, ids: Collection[str]) -> dict[str, datetime]:
        """Return the time when each item's label became known, for items that have one."""
        rows = {} if self.settings.time is None else self._within(lambda: self.truths.of(ids))
        latest = self._latest()
        newest = {
            item: max(row.known for row in of_item)
            for item, of_item in rows.items()
            if self._newest_values(of_item)
        }
        return {
            item: datetime.fromtimestamp(at / 1_000_000, UTC)
            for item, at in newest.items()
            if 0 < at <= latest
        }

    def close(self, round_name: str) -> None:
        """Do nothing: nothing was shown."""

    @property
    def location(self) -> str:
        """Location of the truth; distinct for rounds that were opened with other settings."""
        whole = self.truths.whole_location
        return whole if self.settings.of_today is None else f"{whole}\n{self._settings}"

    def state(self) -> str:
        """Return a text that changes with the table's state; empty if that is not cheap."""
        now = self._clock()
        state = within(
            _TO_CHECK, self.truths.place, lambda: self.truths.state(now), self.truths.advice
        )
        return "" if state is None else self._marker({}, state)

    def forget(self, round_name: str, keys: Collection[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return nothing: nothing was shown."""
        return ()

    def columns(self) -> Mapping[str, str]:
        """Return the type of each column; raises `LabelsRefused` if a configured one is missing."""
        return self._within(self.truths.columns)

    def values(self) -> ValueCounts:
        """Count all rows with a value, and rows with doubtful values."""
        return self._meanings.counts(self._within(self.truths.values))

    def unknown_sentence(self, values: Mapping[str, int]) -> str:
        """Return a sentence on values that are neither positive nor negative."""
        return (
            f"{self._held(values)}, which the config does not name; list each value under {_LISTS}"
        )

    def doubtful_sentences(
        self, similar: Mapping[str, int], missing: Mapping[str, int]
    ) -> list[str]:
        """Return sentences on variants of positive values, and on words for a missing value."""
        hints = {
            "has a positive value in other case, between punctuation or among others, and so means "
            "negative; is that intended?": similar,
            f"does not count as a label; if it is one, list it under {_LISTS}": missing,
        }
        return [f"{self._held(held)}, which {hint}" for hint, held in hints.items() if held]

    def _held(self, values: Mapping[str, int]) -> str:
        column = f"column {self.settings.value!r} (labeling.value)"
        return f"{self.truths}: {column} holds {listed(values)}"

    @property
    def must_reach_passed(self) -> bool:
        """Whether some passed items must have rows, because items without a row count as 0."""
        return self.missing_is_negative and self.settings.passed_without_rows == "refuse"

    @property
    def missing_is_negative(self) -> bool:
        """Whether a matured item without a row is negative."""
        return self.settings.missing_means == "negative"

    @property
    def must_match_ids(self) -> bool:
        """Whether an item cannot be negative while there is a row under a similar id."""
        return self.missing_is_negative and self.settings.similar_ids == "refuse"

    def near_misses(self, ids: Collection[str]) -> list[NearMiss]:
        """Return items whose truth exists only under another spelling of the id."""
        truths = self._within(lambda: self.truths.of(ids))
        written = self._within(
            lambda: self.truths.some_ids(_STYLED) or self.truths.examples(_STYLED)
        )
        styles = id_styles(written, ids)
        forms = defaultdict[str, list[tuple[str, str]]](list)
        for item in ids:
            if item not in truths:
                for what, form in other_forms(item, styles):
                    forms[form].append((item, what))
        result = self._within(
            lambda: self.truths.of([form for form in forms if form not in truths])
        )
        return [NearMiss(item, form, what) for form in result for item, what in forms[form]]

    def contradictions_sentence(self, ids: Sequence[str]) -> str | None:
        """Return a sentence on items with contradicting rows, with an example; None if none."""
        rows = self._within(lambda: self.truths.of(ids))
        values = {item: self._newest_values(rows[item]) for item in sorted(rows)}
        meanings = {item: {*map(self._meanings.of, values[item])} - {None} for item in values}
        unclear = [item for item in values if len(meanings[item]) > 1]
        if not unclear:
            return None
        items = "1 item has" if len(unclear) == 1 else f"{len(unclear)} items have"
        first = unclear[0]
        reason = self._contradiction(values[first], rows[first])
        return f"{items} no label, such as {first!r}: {reason}"

    def some_ids(self, at_most: int) -> Sequence[str]:
        """Return random ids of the truth; empty if they cannot be drawn cheaply."""
        return self._within(lambda: self.truths.some_ids(at_most))

    def truth_of(self, ids: Sequence[str]) -> JoinedTruth:
        """Count the items with known truth, and the positive ones."""
        labels = self.labels_of(ids)
        return JoinedTruth(len(labels), sum(labels.values()))

    def labels_of(self, ids: Sequence[str]) -> dict[str, bool]:
        """Return whether each item with known truth is positive."""
        rows = self._within(lambda: self.truths.of(ids))
        labels = {item: self._newest_values(of_item) for item, of_item in rows.items()}
        positives = self._meanings.positives
        return {item: positives.issuperset(values) for item, values in labels.items() if values}

    def examples(self) -> tuple[str, ...]:
        """Return some ids of the truth as examples of their spelling."""
        return tuple(self._within(lambda: self.truths.examples(_EXAMPLES)))

    def _within(self, read: Callable[[], T]) -> T:
        return within(self.truths.timeout, self.truths.place, read, self.truths.advice)

    def _meaning(self, truths: Sequence[TruthRow], *, has_matured: bool) -> Answer | None:
        """Return the answer of one item's rows; raises `ValueError` if they have no clear one."""
        values = self._newest_values(truths)
        if not values:
            return Answer.NEGATIVE if has_matured else None
        answers = {value: self._meanings.of(value) for value in values}
        unknown = next((value for value in values if answers[value] is None), None)
        if unknown is not None:
            message = (
                f"value {unknown[:80]!r} of column {self.settings.value!r} is neither positive nor "
                "negative; list it under labeling.positive or labeling.negative"
            )
            raise ValueError(message)
        if len({*answers.values()}) > 1:
            raise ValueError(self._contradiction(values, truths))
        return answers[values[0]]

    def _newest_values(self, truths: Sequence[TruthRow]) -> list[str]:
        """Return the values that count; empty if the newest row with a time has no value."""
        newest = 0
        if self.settings.time is not None:
            latest = self._latest()
            newest = max((truth.known for truth in truths if truth.known <= latest), default=0)
        current = [truth.value for truth in truths if not 0 <= truth.known < newest]
        return [value for value in current if value not in self._meanings.missing]

    def _latest(self) -> int:
        """Return the latest plausible time of a row: now and a day, as zones may differ."""
        return int((self._clock() + timedelta(days=1)).timestamp() * 1_000_000)

    def _contradiction(self, values: Sequence[str], truths: Sequence[TruthRow]) -> str:
        listed_values = ", ".join(map(repr, values))
        way_out = "" if self.settings.time else "; name labeling.time so that the newest counts"
        latest = self._latest()
        if self.settings.time and any(not 0 <= truth.known <= latest for truth in truths):
            way_out = (
                f", and column {self.settings.time!r} (labeling.time) does not say which is newer: "
                "a time cannot be read, names no zone where others do, or lies in the future"
            )
        return f"several rows contradict one another ({listed_values}){way_out}"

    def _matured(self, task: Task) -> bool:
        return task.predicted_before is not None and self._has_matured(task.predicted_before)

    def _has_matured(self, predicted_before: datetime) -> bool:
        if not self.missing_is_negative:
            return False
        return self._clock() >= predicted_before + self.settings.matures

    def _marker(self, tasks: Mapping[str, Task], state: object) -> str:
        """Return a text that changes with the table, the tasks, their maturity or the settings."""
        matured = [[key, self._matured(task)] for key, task in sorted(tasks.items())]
        return hashlib.sha256(json.dumps([state, matured, self._settings]).encode()).hexdigest()

    @property
    def _settings(self) -> str:
        """All settings used to read the truth, as JSON."""
        read_by = filter(None, (self.settings, self.settings.of_today))
        return "\n".join(each.model_dump_json() for each in read_by)
