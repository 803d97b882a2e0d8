"""Which repeats and gold items come when, for whom.

All draws are hashes, and depend on no answer, but whether there is one. So what remains goes down
by one with each answer, and does not tell which of them was a control.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from monitor.domain.model import Answer
from monitor.domain.page_answer import PageAnswer, fits
from monitor.service.pages.labeling.outcome import AnswerOutcome, judged, revision_of, stands
from monitor.storage.pages import control_store, page_store
from monitor.storage.pages.control_store import Control, ControlRates, ControlStatement

if TYPE_CHECKING:
    from sqlalchemy import Connection


REPEAT_AFTER = 20  # Tasks that a person answers at least before one of them comes again
_SPREAD = 20  # Tasks by which a repeat may come later than that, by chance

_SENTENCES = {Answer.POSITIVE: "yes", Answer.NEGATIVE: "no", Answer.CANNOT_TELL: "you cannot tell"}


@dataclass(frozen=True, slots=True)
class AnswerHistory:
    """Keys of the tasks that a person answered in a round, in that order, and of those left."""

    answered: Sequence[str]
    left: Sequence[str]


@dataclass(frozen=True, slots=True)
class Due:
    """A control that a person is yet to answer; ``now`` or after more tasks."""

    round_name: str
    now: bool
    task_key: str | None = None
    gold_item: str | None = None

    @property
    def asks(self) -> str:
        """The task or the gold item that it shows."""
        return self.task_key or self.gold_item or ""


@dataclass(frozen=True, slots=True)
class Controls:
    """The controls of a person in some rounds: shown, said and to come."""

    annotator: str
    shown: Mapping[str, Control]
    said: Mapping[str, ControlStatement]
    to_come: Sequence[Due]

    @classmethod
    def read(
        cls, connection: Connection, courses: Mapping[str, AnswerHistory], annotator: str
    ) -> Controls:
        """Read the controls of the rounds that a person works on."""
        rates = control_store.read_rates(connection, list(courses))
        if not rates:
            return cls(annotator, {}, {}, ())
        gold = control_store.gold_items(connection, list(rates))
        shown = control_store.controls(connection, list(rates), annotator)
        answer = control_store.latest_answers(connection, list(rates))
        done = {one.asks for one in shown if stands(answer.get(one.key))}
        to_come = [
            due
            for name, history in courses.items()
            if name in rates
            for due in _to_come(name, history, rates[name], gold.get(name, {}), annotator)
            if due.asks not in done
        ]
        return cls(annotator, {one.asks: one for one in shown}, answer, to_come)

    def next(self, connection: Connection, round_name: str | None, first: str) -> Control | None:
        """Find the control that is due now, of a round or of any; ``first`` is preferred by key."""
        due = [one for one in self.to_come if one.now and round_name in {None, one.round_name}]
        if not due:
            return None
        keys = {asks: control.key for asks, control in self.shown.items()}
        preferred = [one for one in due if keys.get(one.asks) == first]
        chosen = (preferred or due)[0]
        return self.shown.get(chosen.asks) or control_store.make_control(
            connection,
            chosen.round_name,
            self.annotator,
            task_key=chosen.task_key,
            gold_item=chosen.gold_item,
        )

    def revision(self, control: Control) -> int:
        """Count what the person has said to a control."""
        return revision_of(self.said.get(control.key))


def _to_come(
    name: str, history: AnswerHistory, rates: ControlRates, gold: Collection[str], annotator: str
) -> Iterator[Due]:
    """Find the controls of a round that fit in before the tasks of a person end."""
    by_now, by_the_end = len(history.answered), len(history.answered) + len(history.left)
    for index, key in enumerate([*history.answered, *history.left], start=1):
        if _chance("repeat", annotator, key) >= rates.repeats:
            continue
        at = index + REPEAT_AFTER + int(_SPREAD * _chance("distance", annotator, key))
        if at <= by_the_end:
            yield Due(name, index <= by_now and at <= by_now, task_key=key)
    ordered = sorted(gold, key=lambda item: _chance("gold", annotator, item))
    for index, item in enumerate(ordered):
        at = 1 + int((index + _chance("when", annotator, item)) / rates.gold)
        if at <= by_the_end:
            yield Due(name, at <= by_now, gold_item=item)


def _chance(*parts: str) -> float:
    digest = hashlib.sha256("|".join(parts).encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:6]) / 2**48


def record_answer(
    connection: Connection,
    names: Collection[str],
    annotator: str,
    key: str,
    answer: PageAnswer | None,
    *,
    revision: int,
    now: datetime,
) -> AnswerOutcome:
    """Record an answer to a control item; it goes where nothing counts it."""
    control = control_store.find_control(connection, names, annotator, key)
    if control is None:
        return AnswerOutcome.NOT_OPEN
    [page_round] = page_store.lock(connection, [control.round_name])
    if answer is not None and not fits(answer, len(page_round.choices)):
        return AnswerOutcome.NOT_REQUESTED
    latest = control_store.latest_answers(connection, [control.round_name]).get(key)
    outcome = judged(latest, answer, revision)
    if outcome is None:
        control_store.record_answer(connection, control, answer, before=latest, now=now)
    return outcome or AnswerOutcome.TAKEN


def feedback(
    connection: Connection, names: Collection[str], annotator: str, key: str
) -> str | None:
    """Explain a gold item that somebody answered wrong, where they are to be told."""
    control = control_store.find_control(connection, names, annotator, key)
    if control is None or control.gold_item is None:
        return None
    answer = control_store.latest_answers(connection, [control.round_name]).get(key)
    rates = control_store.read_rates(connection, [control.round_name])[control.round_name]
    truth = control_store.gold_items(connection, [control.round_name])
    correct = truth[control.round_name][control.gold_item]
    if not rates.feedback or answer is None or answer.answer in {None, correct}:
        return None
    return (
        f"The answer to the item before is known: {_SENTENCES[correct]}. You said "
        f"{_SENTENCES[Answer(str(answer.answer))]}. It counts for no result; the guideline may "
        "help."
    )
