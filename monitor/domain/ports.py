"""Protocols of what rounds use: sources, labelers, MLflow. `monitor.testing` has contracts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Protocol, runtime_checkable

from monitor.domain.census import Census, JoinedItems
from monitor.domain.id_forms import NearMiss
from monitor.domain.model import Collected, Effect, Frame, ShownRun, Stratum, Task, Window
from monitor.domain.shown import Shown
from monitor.domain.truth import JoinedTruth, TruthColumns, Truths

Clock = Callable[[], datetime]
"""Returns the current time, aware and in UTC."""


class Source(Protocol):
    """Where predictions come from."""

    def scan(self, window: Window, strata: Sequence[Stratum], at_most: int, seed: str) -> Frame:
        """Count every stratum and return its first ``at_most`` items by md5(seed, id), one read.

        Candidates are sorted by ``md5(seed + "|" + id)``, the lower-case hex digest of UTF-8 bytes.
        The same arguments always return the same frame. Rows that cannot be used are counted by
        reason and belong to no stratum. Each stratum also has counts of its segments' largest
        values (`monitor.domain.segments`).

        Raises `SourceRefused` if the data cannot be used (missing file or column, wrong type), and
        `SourceUnavailable` if the source does not answer.
        """

    def count(self, window: Window) -> int:
        """Count all rows of the window, usable or not, by reading their times only."""

    def show(self, ids: Sequence[str], window: Window) -> Mapping[str, Shown]:
        """Return what labelers may see, by column, for each id found in the window.

        Values are texts, or what `monitor.domain.shown` makes of other kinds. An id with nothing to
        show maps to empty texts or to no columns. A missing id has left the predictions; a round
        is not drawn while ids go missing.
        """

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the earliest and latest prediction time, or None if there are no rows."""

    def prediction_times(self, ids: Sequence[str], window: Window) -> Mapping[str, datetime]:
        """Return the earliest prediction time of each id found in the window."""

    def excluded(self, window: Window) -> Mapping[str, Mapping[str, int]]:
        """Count rows that only case, blanks or another word for true leave out, by value.

        Returns an entry for each column by which the settings leave rows out; its counts are empty
        if no value is near.
        """


class PlannedScan(NamedTuple):
    """A scan that a source will probably be asked for."""

    source: Any
    strata: Sequence[Stratum]
    at_most: int


@runtime_checkable
class SharesScans(Protocol):
    """A source that can read a window once for several monitors."""

    @property
    def table(self) -> str:
        """What is read. Sources with the same table can read together."""

    def read_for(self, scans: Sequence[PlannedScan], window: Window, seed: str) -> None:
        """Read a window once for scans by several sources of the same table.

        Afterwards each source scans what was read, until the table changes or `release` is called.
        A source that the table cannot serve is skipped.

        Raises `MonitorError` if the table cannot be read; each source then scans by itself.
        """

    def release(self) -> None:
        """Scan the table itself from now on."""


@runtime_checkable
class Snapshots(Protocol):
    """A source that keeps older states of its data."""

    def at(self, snapshot: str) -> Source:
        """Return the source as of the ``snapshot`` of a frame.

        Its methods raise `SnapshotMissing` if the snapshot no longer exists.
        """


def at_snapshot(source: Source, snapshot: str | None) -> Source:
    """Return a source as of a snapshot; the source itself if no snapshot is given or kept."""
    if snapshot is None or not isinstance(source, Snapshots):
        return source
    return source.at(snapshot)


class TruthTable(Protocol):
    """Columns of a table that hold the truth about items. ``str()`` returns a name for people.

    ``timeout`` limits one read, and ``advice`` says what to do if it takes longer.
    """

    timeout: timedelta
    advice: str

    @property
    def place(self) -> str:
        """Location for people. Two tables that do not answer are told apart by it."""

    @property
    def whole_location(self) -> str:
        """Location that no other table has. It may hold secrets and is never shown."""

    def state(self, now: datetime) -> str | None:
        """Return a text that changes when rows may have changed; None if that is costly to tell."""

    def columns(self) -> Mapping[str, str]:
        """Return the type of each column.

        Raises `InputRefused` if the table or a named column is missing or unusable.
        """

    def values(self) -> Mapping[str, int]:
        """Count the rows of each value, the most frequent first."""

    def examples(self, at_most: int) -> Sequence[str]:
        """Return some of the first and last ids."""

    def some_ids(self, at_most: int) -> Sequence[str]:
        """Return random ids; none if drawing them is costly."""

    def of(self, ids: Collection[str]) -> Truths:
        """Read the truth of some items: trimmed texts, empty ones omitted."""


@runtime_checkable
class HasTruths(Protocol):
    """A source that can read the truth beside its predictions, and join the two."""

    def truths(self, truth_columns: TruthColumns) -> TruthTable:
        """Return the truth in some columns."""

    def joined(
        self,
        window: Window,
        strata: Sequence[Stratum],
        truths: TruthTable,
        missing: Collection[str],
    ) -> tuple[Sequence[str], Iterable[JoinedItems]] | None:
        """Return the segment columns, and the items of a window by stratum, segments and truth.

        Values in ``missing`` count as no truth. Returns None if one statement cannot read both.
        """


@runtime_checkable
class TakesAnswers(Protocol):
    """A source that can store people's answers beside its predictions."""

    @property
    def takes_answers(self) -> bool:
        """Whether its settings ask for that."""

    def try_answers(self, monitor: str) -> str:
        """Describe where answers would be stored, without storing any.

        Raises `MonitorError` if they could not be stored.
        """

    def put_answers(
        self, monitor: str, round_key: str, answers: Mapping[str, Mapping[str, bool]]
    ) -> None:
        """Store the answers to items of a round, by item and annotator, and delete any others.

        Repeating a call changes nothing. Raises as `Source.scan` does.
        """


@runtime_checkable
class ReadsTruth(Protocol):
    """A labeler whose labels are in a table, so that any item can be looked up in it."""

    @property
    def must_reach_passed(self) -> bool:
        """Whether some passed items must have rows, because a missing row means negative."""

    def truth_of(self, ids: Sequence[str]) -> JoinedTruth:
        """Summarize the truth of some items."""

    @property
    def missing_is_negative(self) -> bool:
        """Whether an item without a row is negative."""

    @property
    def must_match_ids(self) -> bool:
        """Whether a row with a similar id keeps an item from counting as negative."""

    def near_misses(self, ids: Collection[str]) -> list[NearMiss]:
        """Return items whose only truth has a similar id."""

    def contradictions_sentence(self, ids: Sequence[str]) -> str | None:
        """Report how many items have contradicting rows, with an example; None if none have."""

    def census(
        self, source: Source, window: Window, strata: Sequence[Stratum], flags: Collection[bool]
    ) -> Census:
        """Count the labels of all items of the predicted classes in ``flags``.

        Raises `LabelsRefused` if there are values, but none that means 1 or 0.
        """

    def census_state(self, window: Window) -> str:
        """Return a text that changes when the census of a window may have changed."""

    def positive_since(self, ids: Collection[str]) -> Mapping[str, datetime]:
        """Return when items became known to be positive, for those with a time."""

    def label_times(self, ids: Collection[str]) -> Mapping[str, datetime]:
        """Return when labels of items became known, for those with a time."""


class Aliases(Protocol):
    """A registry of models."""

    def version_of(self, model: str) -> str | None:
        """Return the version that a URI such as ``models:/mail@champion`` names, or None.

        Raises `DeliveryFailed` if MLflow does not answer or refuses.
        """


class Labeler(Protocol):
    """A source of labels. Every call is safe to repeat.

    ``asks_people`` is false if labels exist already, so that a backfill does not wait for people.
    """

    name: str
    asks_people: bool

    @property
    def question(self) -> str | None:
        """What people are asked, answered by "yes" or "no"; None if the config has no question."""

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Assign tasks. Tasks that are already assigned stay as they are."""

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        """Return label events since ``cursor`` for these tasks (by key), each at least once."""

    def close(self, round_name: str) -> None:
        """Stop asking for labels of a round and delete what was shown. Labels stay."""

    def forget(self, round_name: str, keys: Collection[str]) -> Sequence[str]:
        """Delete the shown content of these tasks of a round, and return where it was stored."""


@runtime_checkable
class Watchable(Protocol):
    """A labeler that detects cheaply whether `Labeler.collect` may return something new.

    Labelers with the same ``location`` share one ``state``, which changes whenever a result of
    `collect` may, unless only time has passed.
    """

    @property
    def location(self) -> str:
        """Location of the labels."""

    def state(self) -> str:
        """Return a text that differs between states of the location."""


class EffectHandler(Protocol):
    """Delivers effects to one sink."""

    def deliver(self, effect: Effect) -> str:
        """Deliver an effect and return a receipt; ``effect.key`` makes repeats safe.

        Raises `DeliveryFailed` if the effect was not delivered, or may not have been.
        """


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found: a summary, and concerns that do not stop a round."""

    text: str
    concerns: tuple[str, ...] = ()


@runtime_checkable
class Checkable(Protocol):
    """A handler or labeler that `pr-monitor check` can try without sending anything."""

    def usable(self) -> CheckResult | str:
        """Describe what would be used, and any concerns.

        Raises `MonitorError` if it cannot work as configured; a handler raises `DeliveryFailed`.
        """


class RoundRuns(Protocol):
    """The rounds of a store that MLflow shows, read if the store may have lost some.

    Every method raises `DeliveryFailed` if MLflow does not answer.
    """

    def find(self, store_id: str, monitor: str) -> Sequence[ShownRun]:
        """Return all runs of a monitor's rounds by slot and version, deleted ones included."""

    def newest_slot(self, store_id: str, monitor: str) -> datetime | None:
        """Return the latest slot with a run that is not deleted, or None."""

    def report(self, run: ShownRun) -> Mapping[str, Any] | None:
        """Read the report of a run; None if it no longer exists."""

    def tag(self, run: ShownRun, restored: str) -> None:
        """Tag a run with what its restored store has of the round."""


def utc_now() -> datetime:
    """Return the current time, aware and in UTC."""
    return datetime.now(UTC)
