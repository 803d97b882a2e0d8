"""Projects and tasks of a Label Studio, as far as they are ours.

A round has a project, and another one for second copies, which a second person labels. Titles are
not unique, so a project is known by a mark in its description: of the store and of the round.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from xml.sax.saxutils import quoteattr

from pydantic import AwareDatetime, BaseModel, TypeAdapter, ValidationError

from monitor.domain.errors import LabelsRefused, LabelsUnavailable
from monitor.domain.model import Answer, Task
from monitor.domain.shown import plain_texts, text_batches
from monitor.domain.visible import visible, visible_lines

if TYPE_CHECKING:
    from monitor.plugins.label_studio.server import Server

T = TypeVar("T")
Params = dict[str, str | int]
_PAGE = 200  # tasks or projects of one answer
_BATCH = 100  # tasks of one import
_BATCH_TEXT = 2_000_000  # characters of one import, unless one text alone is longer
_LONGEST_TITLE = 50
_LONGEST_NAME = 200
_MARKER = re.compile(r"pr-monitor-([0-9a-f]{12})-[0-9a-f]{16}(?:-second)?(?![\w-])")


AT_MOST = 200_000  # Characters of an item that are shown

REMOVED = "What this item showed was deleted."

CONTROL = "answer"  # Name of the choices in the labeling config, which each answer repeats

CHOICES = {"yes": Answer.POSITIVE, "no": Answer.NEGATIVE, "cannot tell": Answer.CANNOT_TELL}
_HOTKEYS = {"yes": "1", "no": "0", "cannot tell": "2"}
_WORD_JOINER = "\u2060"


def labeling_config(question: str) -> str:
    """Write the labeling config of a question.

    A word joiner, which nobody sees, keeps Label Studio from reading ``$100`` as the name of a
    field.
    """
    header = quoteattr(visible(question).replace("$", f"${_WORD_JOINER}"))
    choices = "".join(
        f'<Choice value="{choice}" hotkey="{_HOTKEYS[choice]}"/>' for choice in CHOICES
    )
    return (
        f"<View><Header value={header}/>"
        '<Text name="text" value="$text" valueType="text" saveTextResult="no"/>'
        f'<Choices name="{CONTROL}" toName="text" choice="single-radio" required="true" '
        f'requiredMessage="Choose one of the three answers">{choices}</Choices></View>'
    )


def text_of(shown: Mapping[str, str]) -> str:
    r"""Write what labelers may see of an item as one text.

    >>> text_of({"subject": "hello"})
    'hello'
    >>> text_of({"subject": "hello", "body": "two\nlines"})
    'subject: hello\n\nbody: two\nlines'
    """
    if len(shown) == 1:
        [text] = shown.values()
    else:
        text = "\n\n".join(f"{name}: {text}" for name, text in shown.items())
    text = visible_lines(text)
    if len(text) > AT_MOST:
        return f"{text[:AT_MOST]}\n\n(cut here: the text has {len(text):,} characters)"
    return text or "(there is no text)"


def marker_of(store: str, round_name: str, *, second: bool) -> str:
    """Write what a round's project is known by, with its store, since two may have equal rounds."""
    end = "-second" if second else ""
    return f"pr-monitor-{_digest(store, 12)}-{_digest(round_name, 16)}{end}"


def _digest(text: str, length: int) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:length]


@dataclass(frozen=True, slots=True)
class Project:
    """One of our projects, and its marker."""

    id: int
    marker: str


class StudioAnnotation(BaseModel):
    """What a person said about a task, unchecked."""

    id: int
    completed_by: int | None = None
    was_cancelled: bool = False
    result: Any = None
    updated_at: AwareDatetime


class StudioTask(BaseModel):
    """A task of a project, ours or one that somebody added."""

    id: int
    data: dict[str, Any]  # Without it all of our tasks would seem to be gone
    annotations: list[StudioAnnotation] = []

    @property
    def key(self) -> str | None:
        """Key of the task that it was made of."""
        key = self.data.get("task")
        return key if isinstance(key, str) else None


class _ListedProject(BaseModel):
    id: int
    description: str | None = None


class _ProjectPages(BaseModel):
    next: str | None = None
    results: list[_ListedProject]


class _Page(BaseModel):
    total: int
    total_annotations: int
    tasks: list[StudioTask]


class _ChangedTask(BaseModel):
    id: int
    updated_at: AwareDatetime


class _LastChange(BaseModel):
    total: int
    total_annotations: int
    tasks: list[_ChangedTask]


class _StudioUser(BaseModel):
    id: int
    email: str = ""


class Projects:
    """The projects of one store on a server."""

    def __init__(self, server: Server, store: str) -> None:
        self._server = server
        self.store = store

    def all(self) -> list[Project]:
        """Find all projects of this store, the oldest first."""
        owner, result, page = _digest(self.store, 12), dict[int, Project](), 1
        more = True
        while more:
            params: Params = {"include": "id,description", "ordering": "id"}
            params |= {"page_size": _PAGE, "page": page}
            answer = self._read(_ProjectPages, "/api/projects/", params)
            for one in answer.results:
                match = _MARKER.search(one.description or "")  # people may write around it
                if match is not None and match[1] == owner:
                    result[one.id] = Project(one.id, match[0])
            more, page = answer.next is not None, page + 1
        return [result[number] for number in sorted(result)]

    def of_round(self, round_name: str, *, second: bool | None = None) -> list[Project]:
        """Find the projects of a round, or of one of its copies: after a crash there may be more.

        The oldest comes first.
        """
        copies = (False, True) if second is None else (second,)
        markers = [marker_of(self.store, round_name, second=copy) for copy in copies]
        return [one for one in self.all() if one.marker in markers]

    def make(self, round_name: str, question: str, *, second: bool) -> None:
        """Make the project of a round."""
        marker = marker_of(self.store, round_name, second=second)
        copies = " (second person)" if second else ""
        name = visible(round_name)
        about = (
            f"Round {name}{copies} of pr-monitor. Please keep this line, by which it finds the "
            f"project again: {marker}"
        )
        project = {
            "title": f"{name[: _LONGEST_TITLE - len(copies)]}{copies}".ljust(3, "."),
            "description": about,
            "label_config": labeling_config(question),
            "show_collab_predictions": False,
            "sampling": "Uniform sampling",
            "maximum_annotations": 1,
            "show_skip_button": True,
            "enable_empty_annotation": False,
        }
        self._server.ask("POST", "/api/projects/", None, project)

    def delete(self, project: Project) -> None:
        """Delete a project with all that is in it."""
        self._server.ask("DELETE", f"/api/projects/{project.id}/")

    def add(self, project: Project, tasks: Sequence[Task]) -> None:
        """Import tasks, in an order that only their keys decide; not safe to repeat."""
        ordered = sorted(tasks, key=lambda task: _digest(task.key, 64))
        texts = {task.key: text_of(plain_texts(task.shown)) for task in ordered}
        for batch in text_batches(texts, _BATCH, _BATCH_TEXT):
            path = f"/api/projects/{project.id}/import"
            items = [{"data": {"text": text, "task": key}} for key, text in batch.items()]
            self._server.ask("POST", path, {"return_task_ids": "true"}, items)

    def remove(self, project: Project, tasks: Collection[StudioTask]) -> None:
        """Delete tasks."""
        if tasks:
            chosen = {"all": False, "included": sorted(task.id for task in tasks)}
            params: Params = {"id": "delete_tasks", "project": project.id}
            self._server.ask("POST", "/api/dm/actions", params, {"selectedItems": chosen})

    def blank(self, task: StudioTask) -> bool:
        """Delete what a task shows, all but its key; false if nothing was left."""
        blank = {"text": REMOVED, "task": task.key}
        if task.data == blank:
            return False
        self._server.ask("PATCH", f"/api/tasks/{task.id}/", None, {"data": blank})
        return True

    def state_of(self, project: Project) -> str:
        """Text that differs whenever a task or an annotation came, changed or went."""
        query = json.dumps({"ordering": ["-tasks:updated_at"]})
        params: Params = {"project": project.id, "query": query, "page_size": 1}
        params["include"] = "id,updated_at"
        answer = self._read(_LastChange, "/api/tasks/", params)
        newest = [f"{task.id} {task.updated_at}" for task in answer.tasks]
        return " ".join(map(str, [answer.total, answer.total_annotations, *newest]))

    def tasks(self, project: Project) -> list[StudioTask]:
        """Read all tasks of a project with what people said about them.

        Raises `LabelsUnavailable` if tasks came or went while it was read, so that some may be
        missing here.
        """
        result: dict[int, StudioTask] = {}
        page, total = 1, 1
        while (page - 1) * _PAGE < total:
            params: Params = {"project": project.id, "fields": "all"}
            params |= {"page_size": _PAGE, "page": page}
            answer = self._read(_Page, "/api/tasks/", params)
            result |= {task.id: task for task in answer.tasks}
            page, total = page + 1, answer.total
        if len(result) != total:
            message = (
                f"Label Studio at {self._server.url}: tasks of project {project.id} came or went "
                "while it was read; it is read again in the next pass"
            )
            raise LabelsUnavailable(message)
        return [result[number] for number in sorted(result)]

    def people(self) -> dict[int, str]:
        """Read the names of annotators, by the number that their annotations have."""
        users = self._read(list[_StudioUser], "/api/users/")
        return {user.id: visible(user.email)[:_LONGEST_NAME] for user in users}

    def _read(self, kind: type[T], path: str, params: Params | None = None) -> T:
        answer = self._server.ask("GET", path, params)
        try:
            return TypeAdapter(kind).validate_python(answer)
        except ValidationError as error:
            # Not its text, which may hold what people are shown.
            field = ".".join(map(str, error.errors(include_input=False)[0]["loc"])) or "the whole"
            message = (
                f"Label Studio at {self._server.url} was asked GET {path}: its answer is not what "
                f"Label Studio 1.23 gives (at {visible(field)[:80]}); is labeling.url the "
                "address of a Label Studio?"
            )
            raise LabelsRefused(message) from error
