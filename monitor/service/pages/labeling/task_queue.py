"""Assign tasks to people, and record their answers.

Tasks are assigned block by block of the random order of their round; within a block, each person
has another random order. So the tasks that are assigned first are a random part of the round
(docs/method.md): nothing here depends on an answer, except whether there is one. A task on a
person's screen is reserved for a while, and comes back if it is not answered by then.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from monitor.domain.page_answer import PageAnswer, fits
from monitor.domain.ports import Clock
from monitor.domain.shown import Shown
from monitor.domain.state import RoundState
from monitor.service.pages.labeling.outcome import AnswerOutcome, judged, revision_of, stands
from monitor.service.pages.labeling.progress import AnnotatorProgress
from monitor.storage.database import Database
from monitor.storage.pages import page_store, shared_task_store
from monitor.storage.pages.page_store import PageRound, PageStatement, PageTask
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    LatestAnswers = Mapping[str, Mapping[str, PageStatement]]
    """The latest statement about each task, by its key and the annotator."""


HELD = timedelta(minutes=15)  # How long a task on a person's screen is reserved

LAST_DAY = timedelta(days=1)
"""How long before the end of late labels the page stops taking them: a pass of ``run-once`` or
``serve`` has to read them first."""

AT_ONCE = 10  # Tasks that a screen has at a time: enough that nobody waits for the next one
BLOCK = 50  # Tasks of the common order within which each person has an order of their own


@dataclass(frozen=True, slots=True)
class AssignedTask:
    """A task for a person's screen; ``revision`` counts their earlier answers to it."""

    key: str
    revision: int
    shown: Shown | None = None


@dataclass(frozen=True, slots=True)
class Screen:
    """A person's screen: the tasks of one round, empty if nothing is left for them.

    ``last`` is the task whose answer they may undo; its contents are not read.
    """

    round_: PageRound | None
    tasks: tuple[AssignedTask, ...]
    progress: AnnotatorProgress
    last: AssignedTask | None


class TaskQueue:
    """Assigns tasks and takes answers."""

    def __init__(
        self, database: Database, clock: Clock, monitors: Callable[[], Sequence[str]]
    ) -> None:
        self.database = database
        self.clock = clock
        self._monitors = monitors

    def takes_answers(self) -> bool:
        """Whether some round takes answers here now."""
        with self.database.read() as connection:
            return page_store.has_tasks(connection, list(self.accepting(connection)))

    def screen(self, annotator: str, *, first: str = "") -> Screen:
        """Return a person's next tasks, including the ones on their screen already.

        ``first`` is the key of a task that comes before others if it is theirs.
        """
        now = self.clock()
        with self.database.write() as connection:
            accepting, asking = self._rounds(connection, now)
            rounds = {one.name: one for one in page_store.lock(connection, names_on_page(asking))}
            work = _AnnotatorTasks.read(connection, [*asking], annotator, now)
            chosen = work.chosen(first)
            page_store.hold(connection, chosen, annotator, now + HELD)
            shown = page_store.read_shown(connection, chosen)
            tasks = [
                AssignedTask(task.key, work.revision(task.key), shown[task.key]) for task in chosen
            ]
            name = chosen[0].round_name if chosen else None
            progress = self._progress(connection, work)
            last = self._last(connection, annotator, accepting)
        return Screen(None if name is None else rounds[name], tuple(tasks), progress, last)

    def record_answer(
        self,
        annotator: str,
        key: str,
        answer: PageAnswer | None,
        revision: int,
        *,
        decides: bool = False,
    ) -> AnswerOutcome:
        """Take an answer to a task, or with None undo the last one.

        Only from the person to whom the task was assigned last, or who has answered it: a key
        alone, which a colleague may have read out, is not enough. An answer that is sent again,
        because its receipt was lost, counts once.

        revision: Number of the person's answers to the task when they saw it.
        decides: Whether it is the decision of an adjudicator, to whom no task is assigned.
        """
        now = self.clock()
        with self.database.write() as connection:
            accepting, _ = self._rounds(connection, now)
            task = page_store.find_task(connection, list(accepting), key)
            if task is None:
                return AnswerOutcome.NOT_OPEN
            locked = page_store.lock(connection, [task.round_name])
            if not locked:  # the round was taken from the page just now
                return AnswerOutcome.NOT_OPEN
            if answer is not None and not fits(answer, len(locked[0].choices)):
                return AnswerOutcome.NOT_REQUESTED
            work = _AnnotatorTasks.of_item(connection, task, annotator, now)
            latest = work.latest.get(key, {}).get(annotator)
            outcome = judged(latest, answer, revision) or work.refusal(task, decides=decides)
            if outcome is not None:
                return outcome
            page_store.record_answer(connection, key, annotator, answer, before=latest, now=now)
            if answer is None:
                page_store.hold(connection, [task], annotator, now + HELD)
        return AnswerOutcome.TAKEN

    def shown_to(self, annotator: str, key: str) -> Shown | None:
        """Read the contents of a task, for a person who has or had it on the screen.

        An adjudicator sees the tasks of their rounds, too. None for everybody else.
        """
        now = self.clock()
        with self.database.read() as connection:
            accepting, _ = self._rounds(connection, now)
            task = page_store.find_task(connection, list(accepting), key)
            if task is None or not self._may_see(connection, annotator, task):
                return None
            return page_store.read_shown(connection, [task])[key]

    def _may_see(self, connection: Connection, annotator: str, task: PageTask) -> bool:
        answer = page_store.statements(connection, [task.key])
        return (
            task.held_by == annotator
            or annotator in {one.annotator for one in answer}
            or annotator == self.adjudicators(connection).get(task.round_name)
        )

    def progress(self, annotator: str) -> AnnotatorProgress:
        """Count the remaining items of a person."""
        now = self.clock()
        with self.database.read() as connection:
            _, asking = self._rounds(connection, now)
            work = _AnnotatorTasks.read(connection, [*asking], annotator, now)
            return self._progress(connection, work)

    def accepting(self, connection: Connection) -> dict[str, str]:
        """Return the rounds that take answers, each with its round on the page."""
        return self._rounds(connection, self.clock())[0]

    def adjudicators(self, connection: Connection) -> dict[str, str | None]:
        """Return the adjudicator of each round on the page that takes answers.

        None if the rounds that share it were opened with different adjudicators.
        """
        until = self.clock() + LAST_DAY
        unfinished = round_store.unfinished_names(connection, list(self._monitors()), until)
        shared = shared_task_store.page_rounds_of(connection, [one.name for one in unfinished])
        named: defaultdict[str, set[str | None]] = defaultdict(set)
        for one in unfinished:
            named[shared.get(one.name, one.name)].add(one.adjudicator)
        return {name: who.pop() if len(who) == 1 else None for name, who in named.items()}

    def _rounds(
        self, connection: Connection, now: datetime
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Find the rounds that take answers here, and which of them still ask for answers.

        In slot order, each with its round on the page.
        """
        unfinished = round_store.unfinished_names(
            connection, list(self._monitors()), now + LAST_DAY
        )
        accepting = page_store.on_page(connection, [one.name for one in unfinished])
        asks = {one.name for one in unfinished if one.state is RoundState.LABELING}
        return accepting, {name: page for name, page in accepting.items() if name in asks}

    def _progress(self, connection: Connection, work: _AnnotatorTasks) -> AnnotatorProgress:
        unanswered = work.remaining()
        elsewhere = sum(not work.is_free(task) for task in unanswered)
        names = {task.round_name for task in unanswered}
        then = None
        if len(names) == 1:
            margins = frame_store.read_margins(connection, list(self._monitors()))
            then = margins.get(names.pop())
        return AnnotatorProgress(len(unanswered), elsewhere, then)

    def _last(
        self, connection: Connection, annotator: str, accepting: Mapping[str, str]
    ) -> AssignedTask | None:
        newest = page_store.last_answer(connection, list(accepting), annotator)
        return None if newest is None else AssignedTask(newest.task_key, newest.revision)


@dataclass(frozen=True, slots=True)
class _AnnotatorTasks:
    """The tasks of some rounds as one person may work on them."""

    tasks: Sequence[PageTask]
    latest: LatestAnswers
    annotator: str
    now: datetime

    @classmethod
    def of_item(
        cls, connection: Connection, task: PageTask, annotator: str, now: datetime
    ) -> _AnnotatorTasks:
        """Read the tasks about the same item, which decide whether an answer is accepted."""
        tasks = page_store.read_page_tasks(connection, [task.round_name], item=task.item)
        return cls(
            tasks,
            page_store.latest(page_store.statements(connection, [task.key for task in tasks])),
            annotator,
            now,
        )

    @classmethod
    def read(
        cls, connection: Connection, names: Sequence[str], annotator: str, now: datetime
    ) -> _AnnotatorTasks:
        tasks = _in_own_order(page_store.read_page_tasks(connection, names), annotator)
        return cls(tasks, page_store.latest_statements(connection, names), annotator, now)

    def revision(self, key: str) -> int:
        """Count the person's answers to a task."""
        return revision_of(self._answered(key))

    def chosen(self, first: str) -> list[PageTask]:
        """Choose the next tasks for the person, of one round, no two of the same item."""
        free = [task for task in self.remaining() if self.is_free(task)]
        free.sort(key=lambda task: task.key != first)
        by_item: dict[str, PageTask] = {}
        for task in free:
            if task.round_name == free[0].round_name:
                by_item.setdefault(task.item, task)
        return list(by_item.values())[:AT_ONCE]

    def remaining(self) -> list[PageTask]:
        """Find the tasks without an answer that the person might be asked."""
        held = [t for t in self.tasks if t.held_by == self.annotator and self._is_held(t)]
        spoken_of = [task for task in self.tasks if self._spoken_of_by_me(task)]
        own = {task.item: task.key for task in [*reversed(held), *spoken_of]}
        return [
            task
            for task in self.tasks
            if not any(map(stands, self.latest.get(task.key, {}).values()))
            and own.get(task.item, task.key) == task.key
        ]

    def is_free(self, task: PageTask) -> bool:
        """Whether nobody else has the task on the screen."""
        return task.held_by in {None, self.annotator} or not self._is_held(task)

    def refusal(self, task: PageTask, *, decides: bool) -> AnswerOutcome | None:
        """Return why the person may not answer a task, if they may not."""
        copies = [other for other in self.tasks if other.item == task.item]
        if any(other.key != task.key and self._spoken_of_by_me(other) for other in copies):
            return AnswerOutcome.NOT_YOURS
        # The last person who was assigned the task may answer, even much later.
        was_assigned = (task.key, self.annotator) in {(t.key, t.held_by) for t in self.tasks}
        if decides or was_assigned or self._spoken_of_by_me(task):
            return None
        return AnswerOutcome.NOT_ASSIGNED

    def _is_held(self, task: PageTask) -> bool:
        if task.held_until is None:
            return False
        # The first to read the clock may be second at the store, and clocks of two machines
        # differ; but an end far beyond the longest was noted by a clock that was ahead.
        return self.now < task.held_until <= self.now + 2 * HELD

    def _spoken_of_by_me(self, task: PageTask) -> bool:
        # Also if it was undone: estimates take one copy of an item from a person, the first.
        return self.annotator in self.latest.get(task.key, {})

    def _answered(self, key: str) -> PageStatement | None:
        return self.latest.get(key, {}).get(self.annotator)


def names_on_page(rounds: Mapping[str, str]) -> list[str]:
    """Return the rounds on the page of some rounds, each once."""
    return list(dict.fromkeys(rounds.values()))


def _in_own_order(tasks: Sequence[PageTask], annotator: str) -> list[PageTask]:
    """Shuffle each block of each round for one person; rounds and blocks stay in their order."""
    ordered: list[PageTask] = []
    for _, of_round in groupby(tasks, attrgetter("round_name")):
        positions = []
        for index, task in enumerate(of_round):
            text = f"order|{annotator}|{task.key}"
            digest = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
            positions.append((index // BLOCK, digest, task))
        ordered += [task for *_, task in sorted(positions, key=itemgetter(0, 1))]
    return ordered
