"""How often a pass asks the store: SQL statements of closing, correcting and idle passes.

One monitor of weekly rounds on SQLite, whose newest round was drawn by an earlier pass. Counted is
all that one pass sends, what begins and ends transactions apart. Passes do not deliver effects.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, event

from monitor.domain.model import Answer, LabelEvent
from monitor.domain.sample_settings import Sample
from monitor.domain.settings import Limits, MonitorSettings, RoundSettings, Schedule
from monitor.rounds import run
from monitor.rounds.context import MonitorContext
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.labels import label_store
from monitor.storage.rounds import round_store
from monitor.storage.rounds.round_store import Round
from monitor.testing import MemoryLabeler, MemorySource

MONDAY = datetime(2016, 1, 4, 6, tzinfo=UTC)
WEEK = timedelta(days=7)
ITEMS = 4_000

Sent = tuple[str, str]
"""Text of a statement and its values."""

_FRAMES = ("pragma", "begin", "commit", "rollback", "set local")


class Stage:
    """A classifier whose weeks are made when they are looked at, and a clock."""

    def __init__(self, database: Database) -> None:
        self.now = MONDAY
        self.source = MemorySource([], threshold=0.5)
        self.labeler = MemoryLabeler()
        settings = RoundSettings(
            threshold=0.5,
            schedule=Schedule(cron="0 6 * * MON"),
            sample=Sample(max_labels=400),
            limits=Limits.model_validate({"precision": 0.6, "recall": 0.3}),
            deadline=timedelta(days=5),
            late_labels=timedelta(days=90),
        )
        self.context = MonitorContext(
            settings=MonitorSettings(name="mail", round=settings),
            database=database,
            source=self.source,
            labeler=self.labeler,
            clock=lambda: self.now,
        )

    def play(self, number: int) -> None:
        """Run a whole round; its labels are there, so it is closed too."""
        self.begin(number)
        run.run(self.context)
        if number == 1:
            run.run(self.context)  # its second wave

    def change_a_label(self, back: int) -> Round:
        """Let people change one answer in the round so many places back, and return that."""
        labeler = self.labeler
        with self.context.database.write() as connection:
            round_ = round_store.find_rounds(connection, "mail")[-1 - back]
            tasks = label_store.all_tasks(connection, [round_.id])
            task = tasks[min(tasks)]
            was = labeler.answers[task.item_id]
            other = Answer.NEGATIVE if was is Answer.POSITIVE else Answer.POSITIVE
            labeler.answers[task.item_id] = other
            event = LabelEvent(task.key, labeler.annotator, other, at=self.now)
            label_store.add_events(connection, labeler.name, [event], self.now)
        return round_

    def begin(self, number: int) -> None:
        """Let the week of a round be over, with its predictions and what people answer."""
        self.now = MONDAY + number * WEEK
        rng = np.random.default_rng(number)
        score = rng.beta(0.6, 3, ITEMS)
        positive = rng.random(ITEMS) < score**1.3
        start = self.now - WEEK
        self.source.rows = [
            {"id": f"{number}-{i}", "time": start + i * WEEK / ITEMS, "score": float(score[i])}
            for i in range(ITEMS)
        ]
        self.labeler.answers.update(
            (f"{number}-{i}", Answer.POSITIVE if up else Answer.NEGATIVE)
            for i, up in enumerate(positive)
        )


class Statements:
    """What was sent to a store, in order; transactions are counted apart."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.transactions = 0

    def note(self, text: str, values: Any) -> None:
        """Note one statement; one with many rows of values is one."""
        if text.lower().startswith("begin"):
            self.transactions += 1
        if not text.lower().startswith(_FRAMES):
            self.sent.append((" ".join(text.split()), repr(values)))

    @property
    def selects(self) -> list[Sent]:
        """Those that read."""
        return [each for each in self.sent if each[0].startswith("SELECT")]

    def line(self) -> str:
        """Give the figures of a line."""
        selects = self.selects
        return (
            f"{len(self.sent):>10}  {len(selects):>7}  {len(set(selects)):>8}  "
            f"{self.transactions:>12}"
        )


@contextmanager
def counted(database: Database) -> Iterator[Statements]:
    """Count what is sent to a store while the block runs."""
    statements = Statements()

    def note(_: Connection, __: Any, text: str, values: Any, *___: Any) -> None:
        statements.note(text, values)

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


def played(database: Database, rounds: int) -> dict[str, Statements]:
    """Play a history of so many rounds, and count the passes after it."""
    stage = Stage(database)
    for number in range(1, rounds + 1):
        stage.play(number)
    answers = _draw_only(stage, rounds + 1)
    statements = {"idle, labels to come": _counted_pass(stage)}
    stage.labeler.answers.update(answers)
    statements["closing"] = _counted_pass(stage)
    statements["idle"] = _counted_pass(stage)
    for back in (0, rounds // 2):
        stage.change_a_label(back)
        statements[f"late label, {back} rounds back"] = _counted_pass(stage)
    return statements


def _draw_only(stage: Stage, number: int) -> dict[str, Answer]:
    """Let a round be drawn while nobody has answered yet; returns what people will answer."""
    before = dict(stage.labeler.answers)
    stage.begin(number)
    answers = {key: value for key, value in stage.labeler.answers.items() if key not in before}
    for key in answers:
        del stage.labeler.answers[key]
    run.run(stage.context)
    return answers


def _counted_pass(stage: Stage) -> Statements:
    stage.now += timedelta(minutes=1)
    with counted(stage.context.database) as statements:
        run.run(stage.context)
    return statements


def main(rounds: int = 8) -> None:
    """Print a line for each kind of pass."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder)}/monitor.db")
        schema.ready(database)
        passes = played(database, rounds)
        database.close()
    print(f"{'pass':<28}  statements  SELECTs  distinct  transactions")
    for name, statements in passes.items():
        print(f"{name:<28}  {statements.line()}")
