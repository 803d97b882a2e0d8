"""What is sent to a store: its statements, in order."""

from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy import event

_FRAMES = ("pragma", "begin", "commit", "rollback", "set local")


@dataclass
class Statements:
    """Text and values of each; what begins and ends transactions is left out."""

    sent: list[tuple[str, str]] = field(default_factory=list)

    @property
    def selects(self):
        return [each for each in self.sent if each[0].startswith("SELECT")]


@contextmanager
def counted(database):
    """Note what is sent to a store while the block runs; one with many rows of values is one."""
    statements = Statements()

    def note(_, __, text, values, *___):
        if not text.lower().startswith(_FRAMES):
            statements.sent.append((" ".join(text.split()), repr(values)))

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(database.engine, "before_cursor_execute", note)
