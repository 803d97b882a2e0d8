"""What people said in MLflow's review view, read from the assessments of traces.

MLflow does not check them, and anyone who may edit an experiment may write any. So each is looked
at, and what is no answer to our question is refused with the reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from monitor.domain.model import Answer, LabelEvent, Refusal
from monitor.domain.visible import visible
from monitor.labeling.cells import annotator_of, time_of
from monitor.plugins.mlflow_review.settings import CANNOT_TELL

_PEOPLE = "HUMAN"
_YES_OR_NO = {True: Answer.POSITIVE, False: Answer.NEGATIVE}


_STORED = TypeAdapter(list[tuple[str, Answer, AwareDatetime]])
"""What is kept of the answers to a task whose trace is gone."""


class _Assessment(NamedTuple):
    """One assessment of a person."""

    annotator: str
    name: str
    value: bool
    at: datetime
    id: str


@dataclass(slots=True)
class ReviewReading:
    """The answers to each task, by annotator, and the refusals."""

    answers: dict[str, dict[str, LabelEvent]] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    _digest: Any = field(default_factory=hashlib.sha256)

    def take(self, key: str, question: str, assessments: object) -> None:
        """Take the assessments of a task's trace."""
        self._digest.update(json.dumps([key, question, assessments], sort_keys=True).encode())
        by_name: dict[str, dict[str, _Assessment]] = {}
        for one in assessments if isinstance(assessments, list) else []:
            answer = self._annotator_answer(key, question, one)
            if answer is None:
                continue
            latest = by_name.setdefault(answer.annotator, {})
            previous = latest.get(answer.name)
            if previous is None or (previous.at, previous.id) < (answer.at, answer.id):
                latest[answer.name] = answer
        self.answers[key] = {}
        for annotator, names in by_name.items():
            current = self._current(key, names.get(question), names.get(CANNOT_TELL))
            if current is not None:
                self.answers[key][annotator] = current

    def take_stored(self, key: str, stored: str) -> None:
        """Take what is stored of a task whose trace is gone (`stored_text`)."""
        self._digest.update(f"{key} {stored}".encode())
        try:
            rows = _STORED.validate_json(stored)
        except ValidationError:
            reason = "what was kept of it cannot be read"
            self.refused.append(Refusal(f"task {key}", reason, stored[:40]))
            return
        self.answers[key] = {name: LabelEvent(key, name, answer, at) for name, answer, at in rows}

    def events(self) -> list[LabelEvent]:
        """All answers."""
        return [event for key in sorted(self.answers) for event in self.answers[key].values()]

    def marker(self, missing: Iterable[str]) -> str:
        """Text that differs between states of what was read."""
        self._digest.update("\n".join(missing).encode())
        return str(self._digest.hexdigest())

    def _annotator_answer(self, key: str, question: str, assessment: object) -> _Assessment | None:
        """Read an assessment; None if it does not count, refused or not."""
        if not isinstance(assessment, dict) or assessment.get("valid") is False:
            return None  # it was replaced by another
        source = assessment.get("source")
        if not isinstance(source, dict) or source.get("source_type") != _PEOPLE:
            return None  # programs and language models may say what they like: they are no people
        version = f"{assessment.get('assessment_id')} {assessment.get('last_update_time')}"
        try:
            return _read(assessment, source, question)
        except ValueError as error:
            name = visible(str(source.get("source_id")))[:40]
            self.refused.append(Refusal(f"task {key}, {name}", str(error), version))
            return None

    def _current(
        self, key: str, answer: _Assessment | None, unclear: _Assessment | None
    ) -> LabelEvent | None:
        """Combine what one person answered to the two questions: "cannot tell" wins."""
        at = max(one.at for one in (answer, unclear) if one is not None)
        if unclear is not None and unclear.value:
            return LabelEvent(key, unclear.annotator, Answer.CANNOT_TELL, at)
        if answer is not None:
            return LabelEvent(key, answer.annotator, _YES_OR_NO[answer.value], at)
        if unclear is not None:
            reason = "says that it can be told and not what it is; answer the question itself too"
            where = f"task {key}, {unclear.annotator}"
            self.refused.append(Refusal(where, reason, f"{unclear.id} {unclear.at}"))
        return None


def _read(assessment: Mapping[str, Any], source: Mapping[str, Any], question: str) -> _Assessment:
    """Read what a person said; a ValueError has the reason why it is no answer."""
    name = assessment.get("assessment_name")
    if name not in {question, CANNOT_TELL}:
        message = (
            f"answers {visible(str(name))[:80]!r}, which was not asked: counted is only "
            f"{question!r}, and {CANNOT_TELL!r}"
        )
        raise ValueError(message)
    feedback = assessment.get("feedback")
    value = feedback.get("value") if isinstance(feedback, dict) else None
    if not isinstance(value, bool):
        message = f"says {visible(json.dumps(value))[:80]}, and only yes (true) or no (false) count"
        raise ValueError(message)  # noqa: TRY004  as of every answer that is none
    annotator = annotator_of(source.get("source_id"))
    at = time_of(assessment.get("last_update_time"))
    if not annotator or at is None:
        message = "has no name of who answered, or no time"
        raise ValueError(message)
    return _Assessment(annotator, str(name), value, at, str(assessment.get("assessment_id")))


def stored_text(answers: Mapping[str, LabelEvent]) -> str:
    """Write the answers to a task, to be kept when its trace goes."""
    rows: list[Any] = [(name, event.answer, event.at) for name, event in answers.items()]
    return _STORED.dump_json(rows).decode()
