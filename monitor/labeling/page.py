"""Labels given in a browser: tasks stand on the labeling page, answers come back from it.

The page itself is `monitor.service.pages`. Both sides meet in tables of the store that
hold no score, no class and no stratum (`monitor.storage.page_store`).
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Collected, LabelEvent, LabelKind
from monitor.domain.visible import visible_lines
from monitor.storage import page_store
from monitor.storage.page_store import PageRound

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from monitor.domain.model import Task
    from monitor.domain.ports import Clock
    from monitor.labeling.page_settings import PageSettings
    from monitor.storage.database import Database
    from monitor.storage.page_store import PageStatement

MOST_BYTES = 100_000
"""Of a guideline: what is longer, nobody reads before they answer."""

PLACE = "the labeling page"


class PageLabeler:
    """A `Labeler` over the tables of the labeling page.

    Parameters
    ----------
    settings
        What the config says.
    base_folder
        Where the path of the guideline starts: the folder of the config file.
    clock
        Dates the moment at which tasks go out.
    database
        The store.
    """

    name = "page"
    asks_people = True
    place = PLACE

    def __init__(
        self, settings: PageSettings, base_folder: Path | str, clock: Clock, database: Database
    ) -> None:
        self.settings = settings
        self._folder = Path(base_folder)
        self._clock = clock
        self._database = database

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Put the tasks on the page that are not there yet.

        Raises
        ------
        LabelsRefused
            If the guideline cannot be read.
        """
        asked = PageRound(round_name, visible_lines(self.settings.question), self.guideline())
        with self._database.write() as connection:
            page_store.open_round(connection, asked, self._clock())
            page_store.add_tasks(connection, round_name, tasks)

    def guideline(self) -> str | None:
        """Read the guideline; None where the config names none.

        Raises
        ------
        LabelsRefused
            If it is missing, too long or no text.
        """
        if self.settings.guideline is None:
            return None
        path = self._folder / self.settings.guideline
        try:
            with path.open("rb") as stream:
                text = stream.read(MOST_BYTES + 1)
            if len(text) > MOST_BYTES:
                why = f"is longer than {MOST_BYTES // 1000} kB; people read it before they answer"
                raise LabelsRefused(_about(path, why))
            return visible_lines(text.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            why = f"is not UTF-8 (at byte {error.start}); save it as a text file in UTF-8"
            raise LabelsRefused(_about(path, why)) from error
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise LabelsRefused(
                _about(path, f"cannot be read: {reason}; check the path")
            ) from error

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        """Bring all that was said about these tasks, if any of it is new.

        Read whole each time there is news: a cursor on ids could pass over an answer whose
        transaction ended after a later one.
        """
        with self._database.read() as connection:
            said = page_store.statements(connection, sorted(tasks))
        mark = _mark(said)
        if mark == cursor:
            return Collected(cursor=cursor, anew=False)
        return Collected(tuple(map(_event, said)), cursor=mark)

    def state(self) -> str:
        """Text that differs whenever somebody said something more."""
        with self._database.read() as connection:
            return page_store.state(connection)

    def close(self, round_name: str) -> None:
        """Delete what was shown of the round; answers stay."""
        with self._database.write() as connection:
            page_store.empty_round(connection, round_name)

    def forget(self, round_name: str, keys: Collection[str]) -> tuple[str, ...]:
        """Delete what was shown of these tasks."""
        with self._database.write() as connection:
            gone = page_store.empty_tasks(connection, round_name, keys)
        return (PLACE,) if gone else ()


def _about(path: Path, why: str) -> str:
    return f"labeling.guideline: {path} {why}"


def _mark(said: Sequence[PageStatement]) -> str:
    names = "\n".join(f"{one.task_key} {one.annotator} {one.revision}" for one in said)
    return hashlib.sha256(names.encode(errors="surrogatepass")).hexdigest()


def _event(said: PageStatement) -> LabelEvent:
    kind = LabelKind.WITHDRAWN if said.answer is None else LabelKind.GIVEN
    return LabelEvent(said.task_key, said.annotator, said.answer, at=said.at, kind=kind)
