"""What the store keeps of a Label Studio between two collections, as JSON."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from monitor.domain.model import Answer, LabelEvent, LabelKind

if TYPE_CHECKING:
    from collections.abc import Iterator

Answers = dict[str, dict[str, tuple[Answer, AwareDatetime]]]
"""By task key and annotator: the answer, and when it was given."""

_NEXT = timedelta(microseconds=1)


class StudioCursor(BaseModel):
    """How things stood at the last collection.

    url: The server; of another one nothing here holds.
    asked: Digest of the tasks that were asked for.
    looks: What `Projects.look` said of each project that was read.
    known: For each project that was ever read the key of one of its tasks, which tells whether it
        is asked for, and its mark.
    answers: The answers of each project, so that one that is missing next time is known as
        withdrawn.
    """

    model_config = ConfigDict(frozen=True)

    url: str
    asked: str = ""
    looks: dict[int, str] = {}
    known: dict[int, tuple[str, str]] = {}
    answers: dict[int, Answers] = {}

    @classmethod
    def read(cls, text: str | None, url: str) -> StudioCursor:
        """Read what `model_dump_json` wrote, if it is of this server."""
        try:
            cursor = cls.model_validate_json(text or "{}")
        except ValidationError:
            return cls(url=url)
        return cursor if cursor.url == url else cls(url=url)


def in_order(before: Answers, now: Answers) -> Answers:
    """Date answers so that each one that differs is later than what it replaces.

    Of two annotations of a person the later counts; once that is deleted the earlier one does.
    """
    return {
        key: {
            name: _dated(before.get(key, {}).get(name), answer) for name, answer in of_task.items()
        }
        for key, of_task in now.items()
    }


def _dated(
    before: tuple[Answer, AwareDatetime] | None, answer: tuple[Answer, AwareDatetime]
) -> tuple[Answer, AwareDatetime]:
    if before is None or answer[1] > before[1]:
        return answer
    return before if answer[0] == before[0] else (answer[0], before[1] + _NEXT)


def events_between(before: Answers, now: Answers) -> Iterator[LabelEvent]:
    """Give all answers that there are, and withdraw those that are there no more."""
    for key, of_task in before.items():
        for name, (_, at) in of_task.items():
            if name not in now.get(key, {}):
                yield LabelEvent(key, name, None, at + _NEXT, LabelKind.WITHDRAWN)
    for key, of_task in now.items():
        for name, (answer, at) in of_task.items():
            yield LabelEvent(key, name, answer, at)
