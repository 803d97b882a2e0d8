"""What the rounds need from outside, as small protocols; `monitor.testing` has their contracts."""

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
"""Gives the present time, aware, in UTC."""


class Source(Protocol):
    """Where predictions come from."""

    def scan(self, window: Window, strata: Sequence[Stratum], at_most: int, seed: str) -> Frame:
        """Count every stratum and return its first ``at_most`` items by md5(seed, id), one read.

        Candidates come sorted by ``md5(seed + "|" + id)`` as lower-case hex of UTF-8 bytes; the
        same arguments always give the same frame. Rows that cannot be used are counted per reason
        and in no stratum. Each stratum is also counted by its segments' largest values
        (`monitor.domain.segments`).

        Raises `SourceRefused` if the data cannot be used at all: no file, no such column, wrong
        type; `SourceUnavailable` if the source does not answer now.
        """

    def count(self, window: Window) -> int:
        """Count the rows inside the window, good and bad, without reading more than their times."""

    def show(self, ids: Sequence[str], window: Window) -> Mapping[str, Shown]:
        """Return what labelers may see, by columns, for each id found in the window.

        It is text, or what `monitor.domain.shown` makes of other kinds.

        An id of which there is nothing to show comes back with empty texts, or none: one that is
        missing has left the predictions, and a round is not drawn from such as change.
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
    """What a source is about to be asked of a window, as far as that can be foreseen."""

    source: Any
    strata: Sequence[Stratum]
    at_most: int


@runtime_checkable
class SharesScans(Protocol):
    """A source that reads a window once for several monitors, if it is told ahead whose it is."""

    @property
    def table(self) -> str:
        """What is read: sources that have it in common can read together."""

    def read_for(self, scans: Sequence[PlannedScan], window: Window, seed: str) -> None:
        """Read a window once for these scans by sources of the same table, with this seed.

        The sources then find what they would have found in the table, until it is seen to change or
        they `release` it. A source that the table cannot serve is left out.

        Raises `MonitorError` if it cannot be read; each source then scans by itself.
        """

    def release(self) -> None:
        """Scan the table itself again."""


@runtime_checkable
class Snapshots(Protocol):
    """A source of which an older state can be read for as long as it is kept."""

    def at(self, snapshot: str) -> Source:
        """Return the source as it was when a frame with this ``snapshot`` was read.

        Reading it raises `SnapshotMissing` once it is not kept any more.
        """


def at_snapshot(source: Source, snapshot: str | None) -> Source:
    """Return the state of a source that a frame was read from, or the source where it has none."""
    if snapshot is None or not isinstance(source, Snapshots):
        return source
    return source.at(snapshot)


class TruthTable(Protocol):
    """Where the truth about items stands, in columns of a table; as a text, its name for people.

    ``timeout`` limits one reading, and ``advice`` says what to do where it takes longer.
    """

    timeout: timedelta
    advice: str

    @property
    def place(self) -> str:
        """Where it is, for people; by it, one that does not answer is known again."""

    @property
    def whole_location(self) -> str:
        """Where it is, told from any other place; never shown, as it may hold secrets."""

    def state(self, now: datetime) -> str | None:
        """Return what differs once the rows may, found cheaply; None if nothing cheap tells."""

    def columns(self) -> Mapping[str, str]:
        """Return every column with its type.

        Raises `InputRefused` if there is no such table, or a column that is asked for is missing or
        cannot serve.
        """

    def values(self) -> Mapping[str, int]:
        """Count the rows of each value, the most frequent first."""

    def examples(self, at_most: int) -> Sequence[str]:
        """Return ids from both ends of their order."""

    def some_ids(self, at_most: int) -> Sequence[str]:
        """Return ids drawn at random; none if they cannot be drawn cheaply."""

    def of(self, ids: Collection[str]) -> Truths:
        """Read the truth of some items: values as trimmed text, without empty ones."""


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

        ``missing`` are values that are no truth. Returns None if one statement cannot read both.
        """


@runtime_checkable
class TakesAnswers(Protocol):
    """A source that may store what people answer beside its predictions."""

    @property
    def takes_answers(self) -> bool:
        """Whether it does so by its settings."""

    def try_answers(self, monitor: str) -> str:
        """Describe where answers would be stored, and store none.

        Raises `MonitorError` if none could be.
        """

    def put_answers(
        self, monitor: str, round_key: str, answers: Mapping[str, Mapping[str, bool]]
    ) -> None:
        """Store the answers to some items of a round, by item and annotator, and delete others.

        Safe to repeat: what is stored already stays. Raises as `Source.scan` does.
        """


@runtime_checkable
class ReadsTruth(Protocol):
    """A labeler whose labels are in a table, so that any item can be looked up in it."""

    @property
    def must_reach_passed(self) -> bool:
        """Whether items that were not flagged should have rows, since without one they are 0."""

    def truth_of(self, ids: Sequence[str]) -> JoinedTruth:
        """Summarize the truth of some items."""

    @property
    def missing_is_negative(self) -> bool:
        """Whether an item without a row is negative."""

    @property
    def must_match_ids(self) -> bool:
        """Whether an item is not negative while there is a row by its id in another form."""

    def near_misses(self, ids: Collection[str]) -> list[NearMiss]:
        """Return items that have a truth only by an id in another form."""

    def contradictions_sentence(self, ids: Sequence[str]) -> str | None:
        """Report how many items' rows contradict one another, with an example; None if none do."""

    def census(
        self, source: Source, window: Window, strata: Sequence[Stratum], flags: Collection[bool]
    ) -> Census:
        """Count the labels of all items of the predicted classes in ``flags``.

        Raises `LabelsRefused` if no value that there is means anything.
        """

    def census_state(self, window: Window) -> str:
        """Text that differs once a census of a window may, found cheaply."""

    def positive_since(self, ids: Collection[str]) -> Mapping[str, datetime]:
        """Return when some items were known to be positive, of those whose rows tell."""

    def label_times(self, ids: Collection[str]) -> Mapping[str, datetime]:
        """Return when the labels of some items became known, of those whose rows tell."""


class Aliases(Protocol):
    """Where registered models are."""

    def version_of(self, model: str) -> str | None:
        """Find which version a URI such as ``models:/mail@champion`` names; None: it names none.

        Raises `DeliveryFailed` if MLflow does not answer, or refuses.
        """


class Labeler(Protocol):
    """Where labels come from. Every call is safe to repeat.

    ``asks_people`` is false where labels are there already, so that a backfill need not wait.
    """

    name: str
    asks_people: bool

    @property
    def question(self) -> str | None:
        """What people are asked, answered by "yes" or "no"; None if the config has no question."""

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Assign tasks; tasks that are already out stay as they are."""

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        """Bring label events for these tasks (by key) since ``cursor``, at least once each."""

    def close(self, round_name: str) -> None:
        """Stop asking for labels of this round and delete the shown content; labels stay."""

    def forget(self, round_name: str, keys: Collection[str]) -> Sequence[str]:
        """Delete the shown content of these tasks of a round; return the places where it stood."""


@runtime_checkable
class Watchable(Protocol):
    """A labeler that detects cheaply whether there may be news, so that it need not be asked.

    Labelers of one ``location`` share their ``state``: it changes whenever `Labeler.collect` may
    bring something else, but for time going by.
    """

    @property
    def location(self) -> str:
        """Where the labels come from."""

    def state(self) -> str:
        """Text that differs between states of the location."""


class EffectHandler(Protocol):
    """Does effects of one sink."""

    def deliver(self, effect: Effect) -> str:
        """Do it, safe to repeat by ``effect.key``; return a receipt.

        Raises `DeliveryFailed` if it was not done, or may not have been done.
        """


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What is well, if anything, and what needs a look though a round would go on."""

    text: str
    concerns: tuple[str, ...] = ()


@runtime_checkable
class Checkable(Protocol):
    """A handler or labeler whose settings `pr-monitor check` can try with nothing being sent."""

    def usable(self) -> CheckResult | str:
        """Describe what it would use, and what needs a look.

        Raises `MonitorError` if it could do nothing as things are: of a handler a `DeliveryFailed`.
        """


class RoundRuns(Protocol):
    """What MLflow shows of a store's rounds: asked where the store may have forgotten some.

    Every call raises `DeliveryFailed` if MLflow does not answer.
    """

    def find(self, store_id: str, monitor: str) -> Sequence[ShownRun]:
        """Find all runs of a monitor's rounds, deleted ones too, by slot and version."""

    def newest_slot(self, store_id: str, monitor: str) -> datetime | None:
        """Find the latest slot that has a live run; None without one."""

    def report(self, run: ShownRun) -> Mapping[str, Any] | None:
        """Read the report that a run was written from; None if it is not there any more."""

    def tag(self, run: ShownRun, restored: str) -> None:
        """Record in a run what its restored store has of it."""


def utc_now() -> datetime:
    """Return the current time, aware and in UTC."""
    return datetime.now(UTC)
