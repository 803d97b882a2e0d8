"""Labels from the labeling page: people answer tasks in a browser.

The page itself is `monitor.service.pages`. This labeler and the page share tables of the store that
contain no score, class or stratum (`monitor.storage.pages.page_store`). If a block of classes asks
for the class, its rounds share one round on the page, and each derives its own labels from the
answers.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.domain.block import Block
from monitor.domain.model import Answer, Collected, LabelEvent, LabelKind, Task
from monitor.domain.page_answer import answer_for
from monitor.domain.ports import Clock
from monitor.domain.visible import visible_lines
from monitor.labeling.page_settings import PageSettings
from monitor.labeling.reading import read_text
from monitor.storage.database import Database
from monitor.storage.pages import page_store, shared_task_store
from monitor.storage.pages.page_store import PageRound, PageStatement
from monitor.storage.pages.shared_task_store import SharedTask

if TYPE_CHECKING:
    from sqlalchemy import Connection


MOST_BYTES = 100_000  # Largest guideline; nobody reads a longer one before they answer

LOCATION = "the labeling page"


class PageLabeler:
    """A `Labeler` over the tables of the labeling page.

    clock: Gives the time at which tasks are sent.
    block: The block of monitors that the rounds were opened in; None for a single monitor.
    """

    name = "page"
    asks_people = True
    location = LOCATION
    shows_pictures = True

    def __init__(
        self,
        settings: PageSettings,
        base_folder: Path | str,
        clock: Clock,
        database: Database,
        block: Block | None = None,
    ) -> None:
        self.settings = settings
        self.block = block if settings.answer == "class" else None
        self._folder = Path(base_folder)
        self._clock = clock
        self._database = database

    @property
    def question(self) -> str:
        """The question for people."""
        return self.settings.question

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Add the tasks that are not on the page yet."""
        page_round = PageRound(round_name, visible_lines(self.settings.question), self.guideline())
        with self._database.write() as connection:
            if self.block is not None:
                self._share(connection, self.block, page_round, tasks)
                return
            if not page_store.lock(connection, [round_name]):
                page_store.open_round(connection, page_round, self._clock())
            page_store.add_tasks(connection, round_name, tasks)

    def _share(
        self, connection: Connection, block: Block, page_round: PageRound, tasks: Sequence[Task]
    ) -> None:
        name = shared_task_store.page_rounds_of(connection, [page_round.name]).get(page_round.name)
        if name is None:
            shared = _shared_round(block, page_round, tasks)
            page_store.open_round(connection, shared, self._clock())
            name = shared.name
        page_store.lock(connection, [name])
        index = block.values.index(block.value)
        shared_task_store.share_tasks(connection, name, page_round.name, tasks, index)

    def guideline(self) -> str | None:
        """Read the guideline; None if the config names none."""
        if self.settings.guideline is None:
            return None
        path = self._folder / self.settings.guideline
        return visible_lines(read_text(path, "labeling.guideline", MOST_BYTES))

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        """Return all statements about these tasks, or nothing if there are no new ones.

        The cursor is a digest: one of ids could miss an answer whose transaction ended after a
        later one.
        """
        with self._database.read() as connection:
            answer = _statements_of(connection, sorted(tasks))
        names = "\n".join(f"{one.task_key} {one.annotator} {one.revision}" for one in answer)
        marker = hashlib.sha256(names.encode(errors="surrogatepass")).hexdigest()
        if marker == cursor:
            return Collected(cursor=cursor, was_read=False)
        return Collected(tuple(map(_event, answer)), cursor=marker)

    def state(self) -> str:
        """Return a text that changes with each new statement."""
        with self._database.read() as connection:
            return page_store.state(connection)

    def close(self, round_name: str) -> None:
        """Delete the shown content of the round; answers stay."""
        with self._database.write() as connection:
            page_store.empty_tasks(connection, round_name)

    def forget(self, round_name: str, keys: Collection[str]) -> tuple[str, ...]:
        """Delete the shown content of these tasks."""
        with self._database.write() as connection:
            removed = page_store.empty_tasks(connection, round_name, keys)
        return (LOCATION,) if removed else ()


def _shared_round(block: Block, page_round: PageRound, tasks: Sequence[Task]) -> PageRound:
    """Return the round on the page shared by rounds of one window with the same question.

    Rounds with another question, other classes or another guideline do not share it.
    """
    end = max((task.predicted_before for task in tasks if task.predicted_before), default=None)
    window = "" if end is None else f"-{end:%Y-%m-%dT%H%M%S}"
    similar = json.dumps([page_round.question, page_round.guideline, block.values])
    name = f"{block.name}{window}-{shared_task_store.digest(similar)[:8]}"
    choices = tuple(map(visible_lines, block.values))
    return PageRound(name, page_round.question, page_round.guideline, choices)


def _statements_of(connection: Connection, keys: Sequence[str]) -> list[PageStatement]:
    statements = page_store.statements(connection, keys)
    shares: defaultdict[str, list[SharedTask]] = defaultdict(list)
    for share in shared_task_store.read_shares(connection, keys):
        shares[share.page_key].append(share)
    for shared in page_store.statements(connection, sorted(shares)):
        for share in shares[shared.task_key]:
            answer = None if shared.answer is None else answer_for(shared.answer, share.place)
            statements.append(shared._replace(task_key=share.task_key, answer=answer))
    return statements


def _event(statement: PageStatement) -> LabelEvent:
    answer = None if statement.answer is None else Answer(str(statement.answer))
    kind = LabelKind.WITHDRAWN if answer is None else LabelKind.GIVEN
    return LabelEvent(statement.task_key, statement.annotator, answer, statement.at, kind)
