"""Labels that arrive by themselves: the truth as a column of a table, known some time later."""

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

_TO_CHECK = timedelta(seconds=30)  # To see whether rows changed; without an answer they are read
NO_TRUTHS = (
    "this setting is missing: this kind of source reads no labels, so name the files that hold "
    "them (with kind sql, lake or spark the path may be left out, and table be named)"
)
_LISTS = "labeling.positive or labeling.negative"
_YES: Values = (1, True)
_NO: Values = (0, False)
MOST_BY_ID = 1_000_000  # Items of a stratum read by their ids, at a kilobyte of memory each
OF_TODAY = (
    *("kind", "path", "table", "id", "value", "time"),
    *("passed_without_rows", "similar_ids"),  # A round that waits for one goes on with it
)
"""Settings that are read as the config has them, so that a wrong path or name can be corrected."""
_EXAMPLES = 3  # ids that show how they are written
_STYLED = 1000  # ids by which their styles are known


class ColumnSettings(Labeling):
    """Where the truth is, and what a missing one means.

    It is in the files of ``path``. Without one it is where ``source`` reads, by the same access:
    ``table`` names it as a source of that kind names its own table, and without that it is the
    table of the predictions.

    A row for an item answers it: 1 where ``value`` is one of ``positive``, else 0. Where
    ``positive`` is 1, true or both only 0/false means 0, and other values are refused. With an own
    ``positive`` any other value means 0 unless ``negative`` lists those that do; one that may say
    that there is no label yet (``unknown``, ``pending``, ``none``, ``?``) is refused until a list
    has it. With ``unlisted_means: negative`` any other value means 0 for every ``positive``, as
    where class 1 is one of many: a block of ``classes`` sets it.

    An item without a row (or with an empty value) waits; with ``missing_means: negative`` it is
    0 once ``matures`` has passed since its prediction. ``time`` names when a row became known:
    of several rows for an item the newest counts, and an empty value in it withdraws the label.
    Without ``time`` contradicting rows are refused.
    A word for a missing value (``nan``, ``None``, ``<NA>``, ``NULL``, ``N/A``) is an empty one
    unless ``positive`` or ``negative`` lists it.

    With ``missing_means: negative`` the truth must reach the items that were not flagged: where it
    has rows for flagged items alone, a round is not closed, since nothing could be missed and
    recall would be 1 for ever. ``passed_without_rows: accept`` says that this is known, and that
    those items are negative indeed. Nor is a round closed while the truth has an item's row only by
    its id in other case, or with other zeros or blanks, unless a prediction has that id too:
    ``similar_ids: accept`` says that such rows are of other items.

    Beside another labeler, ``checks`` is how many random items a round people label too, without
    seeing these labels: the labeler under ``checks``, else the one of the other class. Their
    answers estimate how often this column is wrong, and the estimates of basis ``corrected``
    rest on that.

    ``deadline`` is ``matures`` unless given: a round that closed earlier would hold the answers
    that come fast, which are not a random part of all.

    A round keeps what decides its labels as it was when it opened: ``matures``, ``missing_means``,
    ``positive``, ``negative`` and ``checks``. It is read at today's ``path`` and under the names
    that columns have today.
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
        """Return what a round was opened with, at today's location and under today's names.

        Values that its lists leave without a meaning have the one that today's lists give them.
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
        """The settings of the config, where a round was opened with others; else None."""
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
        """All paths, also where one was given; none if the source reads."""
        return (self.path,) if isinstance(self.path, str) else self.path or ()

    @property
    def columns(self) -> TruthColumns:
        """Which columns have the truth."""
        return TruthColumns(self.table, self.id, self.value, self.time)

    @property
    def negatives(self) -> frozenset[str] | None:
        """Texts that mean 0; None if all that is not positive does."""
        if self.unlisted_means == "negative":
            return None
        if self.negative is not None:
            return frozenset(all_texts(self.negative))
        is_usual = set(all_texts(self.positive)) <= set(all_texts(_YES))
        return frozenset(all_texts(_NO)) if is_usual else None


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """Number of rows that have a truth, and of rows with a doubtful value, by value.

    ``unknown`` values mean nothing, ``case_variants`` of a ``positive`` count as negative, and
    ``missing`` are words for a missing value.
    """

    rows: int
    unknown: Mapping[str, int]
    case_variants: Mapping[str, int]
    missing: Mapping[str, int] = field(default_factory=dict)


class ValueMeanings:
    """Give values their meaning; ``missing`` are words for a missing value that no list has."""

    def __init__(self, settings: ColumnSettings) -> None:
        self.positives = frozenset(all_texts(settings.positive))
        listed_texts = self.positives.union(all_texts(settings.negative or ()))
        self.missing = frozenset({"", *(MISSING_MARKERS - listed_texts)})
        self._negatives = settings.negatives
        self._positive_words = Words(self.positives)
        self._takes_unlisted = settings.unlisted_means == "negative"
        self._of_today = settings.of_today and ValueMeanings(settings.of_today)

    def of(self, text: str) -> Answer | None:
        """Return what a value means; None if it is neither positive nor negative.

        With no list of negatives, one that may stand for a positive or a missing one is neither.
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
        """Count all rows that have a value, and rows with a doubtful one by value."""
        missing = {text: counted[text] for text in counted if text in self.missing}
        rows = {text: count for text, count in counted.items() if text not in missing}
        unknown = {text: count for text, count in rows.items() if self.of(text) is None}
        negative = rows.keys() - unknown.keys() - self.positives
        similar = {text: rows[text] for text in negative if self._positive_words.are_in(text)}
        return ValueCounts(sum(rows.values()), unknown, similar, missing)


class ColumnLabeler:
    """A `Labeler` that reads the truth for the items asked for, in one scan.

    Each reading returns all that is true now: an item without an answer is withdrawn, which the
    store ignores unless there was one before.

    truths: Where the truth is.
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
        """Return the answer of every task, unless neither rows nor maturity changed.

        Raises `LabelsRefused` if no value that there is means anything.
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
        if state is None:  # then only what was found tells whether anything changed
            now = self._marker(tasks, sorted(truths.items()))
            if now == cursor:
                return Collected(cursor=cursor, was_read=False)
        answers, refused = self._answers(tasks, truths)
        # No answer at all: then the column or its values may be named wrongly, not a row be wrong.
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
        """Read the truth of each item, where predictions and truth are in two engines.

        Raises `LabelsRefused` if they are too many.
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
        """Text that differs between states of the table and of a window's maturity.

        Where nothing cheap tells whether rows changed, it differs every hour.
        """
        now = self._clock()
        state = self.truths.state(now)
        state = f"{now:%Y-%m-%d %H}" if state is None else state
        return self._marker({}, [state, self._has_matured(window.end)])

    def positive_since(self, ids: Collection[str]) -> dict[str, datetime]:
        """Return when some items were known to be positive, of those whose rows tell."""
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
        """Return when the labels of some items became known, of those whose rows tell."""
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
        """Where the truth is; another one for rounds that were opened with other settings."""
        whole = self.truths.whole_location
        return whole if self.settings.of_today is None else f"{whole}\n{self._settings}"

    def state(self) -> str:
        """Text that differs between states of the table, found cheaply; empty if that cannot be."""
        now = self._clock()
        state = within(
            _TO_CHECK, self.truths.place, lambda: self.truths.state(now), self.truths.advice
        )
        return "" if state is None else self._marker({}, state)

    def forget(self, round_name: str, keys: Collection[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Find nothing: nothing was shown."""
        return ()

    def columns(self) -> Mapping[str, str]:
        """Return every column with its type; refuse when one that the config names is missing."""
        return self._within(self.truths.columns)

    def values(self) -> ValueCounts:
        """Count the rows of the values that are odd, and all rows that have a value."""
        return self._meanings.counts(self._within(self.truths.values))

    def unknown_sentence(self, values: Mapping[str, int]) -> str:
        """Name the values that mean nothing, and where to list them."""
        return (
            f"{self._held(values)}, which the config does not name; list each value under {_LISTS}"
        )

    def doubtful_sentences(
        self, similar: Mapping[str, int], missing: Mapping[str, int]
    ) -> list[str]:
        """Name values that are negative by their case alone, and words for a missing value."""
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
        """Whether items that were not flagged should have rows, since without one they are 0."""
        return self.missing_is_negative and self.settings.passed_without_rows == "refuse"

    @property
    def missing_is_negative(self) -> bool:
        """Whether an item without a row is negative."""
        return self.settings.missing_means == "negative"

    @property
    def must_match_ids(self) -> bool:
        """Whether an item is not negative while there is a row by its id in another form."""
        return self.missing_is_negative and self.settings.similar_ids == "refuse"

    def near_misses(self, ids: Collection[str]) -> list[NearMiss]:
        """Return items that have a truth only by an id in another form."""
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
        """Report how many items' rows contradict one another, with an example; None if none do."""
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
        """Return ids of the truth drawn at random; none if they cannot be drawn cheaply."""
        return self._within(lambda: self.truths.some_ids(at_most))

    def truth_of(self, ids: Sequence[str]) -> JoinedTruth:
        """Summarize the truth of some items."""
        labels = self.labels_of(ids)
        return JoinedTruth(len(labels), sum(labels.values()))

    def labels_of(self, ids: Sequence[str]) -> dict[str, bool]:
        """Return which items are positive, of those that the truth has."""
        rows = self._within(lambda: self.truths.of(ids))
        labels = {item: self._newest_values(of_item) for item, of_item in rows.items()}
        positives = self._meanings.positives
        return {item: positives.issuperset(values) for item, values in labels.items() if values}

    def examples(self) -> tuple[str, ...]:
        """Return some ids of the truth, which show how they are written."""
        return tuple(self._within(lambda: self.truths.examples(_EXAMPLES)))

    def _within(self, read: Callable[[], T]) -> T:
        return within(self.truths.timeout, self.truths.place, read, self.truths.advice)

    def _meaning(self, truths: Sequence[TruthRow], *, has_matured: bool) -> Answer | None:
        """Return what the rows of one item mean; a ValueError has the reason if nothing."""
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
        """Return the values that count; none if the newest row, whose time is known, is empty."""
        newest = 0
        if self.settings.time is not None:
            latest = self._latest()
            newest = max((truth.known for truth in truths if truth.known <= latest), default=0)
        current = [truth.value for truth in truths if not 0 <= truth.known < newest]
        return [value for value in current if value not in self._meanings.missing]

    def _latest(self) -> int:
        """Return when a row can have become known at the latest, with room for a zone."""
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
        """Text that differs between states of the table, tasks, maturity and settings."""
        matured = [[key, self._matured(task)] for key, task in sorted(tasks.items())]
        return hashlib.sha256(json.dumps([state, matured, self._settings]).encode()).hexdigest()

    @property
    def _settings(self) -> str:
        """All settings by which the truth is read."""
        read_by = filter(None, (self.settings, self.settings.of_today))
        return "\n".join(each.model_dump_json() for each in read_by)
