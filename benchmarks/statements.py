"""How often a pass asks the store: SQL statements of closing, correcting and idle passes.

One monitor of weekly rounds on SQLite, whose newest round was drawn by an earlier pass. Counted is
all that one pass sends, what begins and ends transactions apart. Passes do not deliver effects.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event

from benchmarks.growth import Stage
from monitor.domain.model import Answer
from monitor.rounds import run
from monitor.storage import schema
from monitor.storage.database import Database

Sent = tuple[str, str]
"""Text of a statement and its values."""

_FRAMES = ("pragma", "begin", "commit", "rollback", "set local")


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
