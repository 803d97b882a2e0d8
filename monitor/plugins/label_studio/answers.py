"""What the annotations of a project say: answers, each checked, and what is refused.

Label Studio validates nothing that comes over its interface, and lets anybody edit or delete
anybody's annotation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from monitor.domain.model import Answer, Refusal
from monitor.plugins.label_studio.shown import CHOICES, CONTROL

if TYPE_CHECKING:
    from monitor.plugins.label_studio.projects import Project, StudioAnnotation, StudioTask


@dataclass(slots=True)
class StudioReading:
    """Answers of a project by task key and annotator, each with its time, and what was refused."""

    answers: dict[str, dict[str, tuple[Answer, datetime]]] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)


def read_answers(
    project: Project,
    tasks: Sequence[StudioTask],
    keys: Collection[str],
    people: Mapping[int, str],
) -> StudioReading:
    """Read what people said about the tasks that were asked for."""
    reading = StudioReading()
    for task in tasks:
        for annotation in sorted(task.annotations, key=lambda one: (one.updated_at, one.id)):
            try:
                key = _requested_key(task, keys)
                name, answer = _name(annotation, people), answer_of(annotation)
            except ValueError as problem:
                where = f"Label Studio, project {project.id}, task {task.id}"
                version = annotation.updated_at.isoformat()
                refusal = Refusal(f"{where}, annotation {annotation.id}", str(problem), version)
                reading.refused.append(refusal)
            else:
                _take(reading, key, name, (answer, annotation.updated_at))
    return reading


def _take(reading: StudioReading, key: str, name: str, answer: tuple[Answer, datetime]) -> None:
    """Take an answer, unless the same person gave a later one."""
    of_task = reading.answers.setdefault(key, {})
    if name not in of_task or of_task[name][1] <= answer[1]:
        of_task[name] = answer


def answer_of(annotation: StudioAnnotation) -> Answer:
    """Return what an annotation says; a ValueError has the reason if it says nothing."""
    if annotation.was_cancelled:
        return Answer.CANNOT_TELL  # it was skipped
    result = annotation.result
    if not isinstance(result, list) or not result:
        message = "it holds no answer; choose one, or delete the annotation"
        raise ValueError(message)
    choices = [choice for region in result for choice in _choices(region)]
    if len(choices) != 1 or choices[0] not in CHOICES:
        shown = ", ".join(ascii(choice)[:40] for choice in choices[:3]) or "something else"
        message = f"it answers {shown}; wanted is one of {', '.join(CHOICES)}"
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
        message = "it names nobody as its author (completed_by); answer the task again"
        raise ValueError(message)
    return people.get(user_id) or f"user {user_id}"
