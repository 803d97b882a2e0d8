"""A `Labeler` over Label Studio: a project for each round, tasks out, annotations in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter

from pydantic import BaseModel, ValidationError

from monitor.domain.errors import LabelsRefused, LabelsUnavailable
from monitor.domain.model import Answer, Collected, LabelEvent, Refusal, Task
from monitor.domain.visible import visible
from monitor.plugins.label_studio.projects import (
    CHOICES,
    CONTROL,
    Project,
    Projects,
    StudioAnnotation,
    StudioTask,
)
from monitor.plugins.label_studio.server import Server
from monitor.plugins.label_studio.settings import LabelStudioSettings


def read_answers(
    tasks: Sequence[tuple[Project, StudioTask]], keys: Collection[str], people: Mapping[int, str]
) -> tuple[list[LabelEvent], list[Refusal]]:
    """Read what people said about the tasks that were asked for, each answer checked.

    Label Studio validates nothing that comes over its interface, and lets anybody edit or delete
    anybody's annotation. Of two of a person the later counts.
    """
    events: dict[tuple[str, str], LabelEvent] = {}
    refused: list[Refusal] = []
    annotations = [(one, task, project) for project, task in tasks for one in task.annotations]
    for annotation, task, project in sorted(
        annotations, key=lambda one: (one[0].updated_at, one[0].id)
    ):
        at = annotation.updated_at
        try:
            key = _requested_key(task, keys)
            name, answer = _name(annotation, people), answer_of(annotation)
        except ValueError as problem:
            where = f"Label Studio, project {project.id}, task {task.id}"
            where = f"{where}, annotation {annotation.id}"
            refused.append(Refusal(where, str(problem), at.isoformat()))
        else:
            events[key, name] = LabelEvent(key, name, answer, at)
    return list(events.values()), refused


def answer_of(annotation: StudioAnnotation) -> Answer:
    """Return what an annotation says; a ValueError has the reason if it has no answer."""
    if annotation.was_cancelled:
        return Answer.CANNOT_TELL  # it was skipped
    result = annotation.result
    if not isinstance(result, list) or not result:
        message = "it holds no answer; choose one, or delete the annotation"
        raise ValueError(message)
    choices = [choice for region in result for choice in _choices(region)]
    if len(choices) != 1 or choices[0] not in CHOICES:
        shown = ", ".join(ascii(choice)[:40] for choice in choices[:3]) or "something else"
        message = f"it answers {shown}; expected one of {', '.join(CHOICES)}"
        raise ValueError(message)
    return CHOICES[choices[0]]


def _choices(region: object) -> list[str]:
    """Return what one region of a result chooses; one that is no choice is refused."""
    if isinstance(region, dict) and region.get("from_name") == CONTROL:
        value = region.get("value")
        choices = value.get("choices") if isinstance(value, dict) else None
        if isinstance(choices, list) and all(isinstance(choice, str) for choice in choices):
            return choices
    message = "it holds something that the labeling config does not ask for; delete it and answer"
    raise ValueError(message)


def _requested_key(task: StudioTask, keys: Collection[str]) -> str:
    key = task.key
    if key is None or key not in keys:
        message = "the task was not sent by this round; answers to it count nowhere"
        raise ValueError(message)
    return key


def _name(annotation: StudioAnnotation, people: Mapping[int, str]) -> str:
    user_id = annotation.completed_by
    if user_id is None:
        message = "it has no author (completed_by); answer the task again"
        raise ValueError(message)
    return people.get(user_id) or f"user {user_id}"


class LabelStudioLabeler:
    """A `Labeler` that people answer in Label Studio.

    store: Gives the id of the store, so that two stores whose rounds have equal names do not meet.
    """

    name = "label_studio"
    asks_people = True

    def __init__(self, settings: LabelStudioSettings, store: Callable[[], str]) -> None:
        self.settings = settings
        self._server = Server(settings.url, settings.token.get_secret_value())
        self._store = store

    @property
    def question(self) -> str:
        """What people are asked."""
        return self.settings.question

    @property
    def projects(self) -> Projects:
        """The projects of this store."""
        return Projects(self._server, self._store())

    def usable(self) -> str:
        """Ask who the token is of, and whether it may see projects."""
        who = self._server.ask("GET", "/api/current-user/whoami")
        version = self._server.ask("GET", "/api/version")
        self._server.ask("GET", "/api/projects/", {"page_size": 1, "include": "id"})
        email = who.get("email") if isinstance(who, dict) else None
        release = version.get("release") if isinstance(version, dict) else None
        if not isinstance(email, str) or not isinstance(release, str):
            message = (
                f"{self.settings.url} answers, but not as Label Studio does; is labeling.url the "
                "address of a Label Studio?"
            )
            raise LabelsRefused(message)
        about = visible(f"Label Studio {release} at {self.settings.url} as {email}")[:300]
        return f"{about}: {visible(self.settings.question)}"

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Import the tasks that are in no project of the round yet.

        An import that is repeated makes everything twice, also one whose answer got lost. So it
        is looked which tasks are there, before and after it, and what is there twice is deleted.
        """
        for second in (False, True):
            copies = [task for task in tasks if (task.slot > 1) is second]
            if copies:
                self._send(round_name, copies, second=second)

    def _send(self, round_name: str, tasks: Sequence[Task], *, second: bool) -> None:
        projects = self.projects
        if not projects.of_round(round_name, second=second):
            projects.make(round_name, self.settings.question, second=second)
        round_projects = projects.of_round(round_name, second=second)
        if not round_projects:
            message = (
                f"Label Studio at {self.settings.url} made a project for {round_name} and does not "
                "list it; does the account of labeling.token see all projects?"
            )
            raise LabelsRefused(message)
        out = {task.key for _, task in _all_tasks(projects, round_projects)}
        missing = [task for task in tasks if task.key not in out]
        if missing:
            projects.add(round_projects[0], sorted(missing, key=attrgetter("place")))
        imported = _all_tasks(projects, round_projects)
        _remove_surplus(projects, round_projects, imported)
        lost = {task.key for task in tasks} - {task.key for _, task in imported}
        if lost:
            message = (
                f"Label Studio at {self.settings.url} took {len(tasks)} tasks for {round_name}, "
                f"and {len(lost)} of them are not there; they are sent again in the next pass"
            )
            raise LabelsUnavailable(message)

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        """Bring all that is said about these tasks, if anything changed.

        Raises `LabelsRefused` if the project of some of them is gone: that must not look as if all
        labels had been withdrawn.
        """
        if not tasks:
            return Collected(cursor=cursor, was_read=False)
        previous, studio = _StudioCursor.read(cursor, self.settings.url), self.projects
        listed = studio.all()
        projects_by_id = previous.projects | {
            one.id: (one.marker, _keys(studio.tasks(one)))
            for one in listed
            if one.id not in previous.projects
        }
        projects = [one for one in listed if not tasks.keys().isdisjoint(projects_by_id[one.id][1])]
        self._refuse_removed(listed, projects, projects_by_id, tasks)
        states = {one.id: studio.state_of(one) for one in projects}
        digest = hashlib.sha256(json.dumps(sorted(tasks)).encode()).hexdigest()
        if (states, digest) == (previous.states, previous.asked):
            return Collected(cursor=cursor, was_read=False)
        studio_tasks = _all_tasks(studio, projects)
        events, refused = read_answers(studio_tasks, tasks, studio.people())
        complete = set[str]()
        for project in projects:
            marker, earlier = projects_by_id[project.id]
            now = _keys(task for of, task in studio_tasks if of is project)
            keys = list(dict.fromkeys([*earlier, *now]))
            complete |= tasks.keys() & keys
            projects_by_id[project.id] = (marker, keys)
        # One key tells that a project is asked for again: a cursor is not to grow with each round.
        # A project without any is looked at again: its tasks may not have been imported yet.
        remembered = {
            one: (marker, keys if one in states else keys[:1])
            for one, (marker, keys) in projects_by_id.items()
            if keys
        }
        after = _StudioCursor(
            url=self.settings.url, asked=digest, states=states, projects=remembered
        )
        return Collected(
            tuple(events), tuple(refused), after.model_dump_json(), frozenset(complete)
        )

    def _refuse_removed(
        self,
        listed: Sequence[Project],
        projects: Sequence[Project],
        projects_by_id: Mapping[int, tuple[str, list[str]]],
        tasks: Mapping[str, Task],
    ) -> None:
        listed_ids, marks = {one.id for one in listed}, {one.marker for one in listed}
        lost = {
            project_id: marker
            for project_id, (marker, keys) in projects_by_id.items()
            if project_id not in listed_ids and not tasks.keys().isdisjoint(keys)
        }
        removed = sorted(project_id for project_id, marker in lost.items() if marker not in marks)
        if removed:
            message = (
                f"{self._removed(f'project {removed[0]}')}; if the labels taken so far are all "
                "that there will be, make an empty project with the description "
                f"{lost[removed[0]]}"
            )
            raise LabelsRefused(message)
        if not projects and not lost:
            raise LabelsRefused(self._removed(f"the project of {len(tasks)} tasks"))

    def _removed(self, which: str) -> str:
        return (
            f"{which} is not there any more at {self.settings.url}, so its labels cannot be read: "
            "restore it, or its description if that was changed, or set labeling.url back if it "
            "names another server now"
        )

    def close(self, round_name: str) -> None:
        """Delete the tasks of the round that nobody answered, and the texts of the others.

        A project in which nobody answered is deleted as a whole.
        """
        projects = self.projects
        for project in projects.of_round(round_name):
            self._close(projects, project)

    def _close(self, projects: Projects, project: Project) -> None:
        tasks = projects.tasks(project)
        answered = [task for task in tasks if task.annotations]
        if not answered:
            projects.delete(project)
            return
        projects.remove(project, [task for task in tasks if not task.annotations])
        for task in answered:
            projects.blank(task)

    def forget(self, round_name: str, keys: Collection[str]) -> tuple[str, ...]:
        """Delete the shown content of these tasks; answers and tasks stay."""
        projects = self.projects
        emptied = []
        for project in projects.of_round(round_name):
            forgotten = [task for task in projects.tasks(project) if task.key in keys]
            if [task for task in forgotten if projects.blank(task)]:
                emptied.append(f"{self.settings.url}/projects/{project.id}")
        return tuple(emptied)


def _keys(tasks: Iterable[StudioTask]) -> list[str]:
    """Return the keys of tasks, oldest first: those sent from here precede added ones.

    Ours are ASCII.
    """
    keys = (task.key for task in tasks if task.key is not None and task.key.isascii())
    return list(dict.fromkeys(keys))


def _all_tasks(projects: Projects, several: Sequence[Project]) -> list[tuple[Project, StudioTask]]:
    return [(project, task) for project in several for task in projects.tasks(project)]


def _remove_surplus(
    projects: Projects, several: Sequence[Project], imported: Sequence[tuple[Project, StudioTask]]
) -> None:
    """Keep the oldest task of each key, and what was answered; delete projects left empty."""
    seen: set[str] = set()
    surplus: dict[int, list[StudioTask]] = {project.id: [] for project in several}
    task_counts = dict.fromkeys(surplus, 0)
    for project, task in imported:
        if task.key in seen and not task.annotations:
            surplus[project.id].append(task)
        else:
            task_counts[project.id] += 1
        if task.key is not None:
            seen.add(task.key)
    for project in several:
        projects.remove(project, surplus[project.id])
    for project in several[1:]:
        if not task_counts[project.id]:
            projects.delete(project)


class _StudioCursor(BaseModel):
    """How things stood at the last collection.

    url: The server; of another one nothing here holds.
    asked: Digest of the tasks that were asked for.
    states: What `Projects.state_of` said of each project that was read.
    projects: The mark of each project, and the keys of its tasks, also of those that were deleted.
    """

    url: str
    asked: str = ""
    states: dict[int, str] = {}
    projects: dict[int, tuple[str, list[str]]] = {}

    @classmethod
    def read(cls, text: str | None, url: str) -> _StudioCursor:
        """Read what `model_dump_json` wrote, if it is of this server."""
        try:
            cursor = cls.model_validate_json(text or "{}")
        except ValidationError:
            return cls(url=url)
        return cursor if cursor.url == url else cls(url=url)
