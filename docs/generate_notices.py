"""Writes what on-call sees into docs/operations/on-call.md: `python docs/generate_notices.py`.

Plays three incidents with stand-ins for predictions, labelers and sinks and its own clock; the
rounds, estimates, notices and pages are the program's. A test fails when the file is not current.
`--messages` lists every message that the program can print, instead, to read them all at once.
"""

from __future__ import annotations

import ast
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from sqlalchemy import update
from structlog.testing import capture_logs

sys.path.insert(0, str(Path(__file__).parent.parent))

from monitor.cli.views.printing import echo_document
from monitor.cli.views.status_page import overview_lines, with_links
from monitor.domain.errors import DeliveryFailed, SourceRefused
from monitor.domain.model import Effect, EffectKind
from monitor.hooks.context import read_notice
from monitor.hooks.webhook import notice_body
from monitor.rounds.delivery import deliver
from monitor.rounds.status import overviews
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.tables import store
from monitor.tracking.links import round_link
from tests.rounds.scene import LIMITS, REFERENCE, Scene, settings

OUT = Path(__file__).parent / "operations" / "on-call.md"
BEGIN, END = "<!-- notices: begin -->", "<!-- notices: end -->"
SENTENCE = 3  # words
STORE = "6f1c0a9e-0000-4000-8000-000000000000"
MLFLOW = "http://mlflow.example.org:5000"


def link(notice: Any) -> str | None:
    """Find the page of a notice's round, as if MLflow were served."""
    return round_link(MLFLOW, "monitor/mail-travel", notice.round_key, "experiments/3/runs/ab12")


class Terminal(io.StringIO):
    """Where long lines are broken."""

    def isatty(self) -> bool:
        """State that it is one."""
        return True


@dataclass
class Sink:
    """Keeps what it takes, or refuses it."""

    got: list[dict[str, Any]] = field(default_factory=list)
    error: DeliveryFailed | None = None

    def deliver(self, effect: Effect) -> str:
        """Take an effect."""
        if self.error is not None:
            raise self.error
        self.got.append(dict(effect.payload))
        return "taken"

    def told(self, event: str) -> dict[str, Any]:
        """Find the first notice of a kind."""
        result = next(payload for payload in self.got if payload.get("event") == event)
        return {
            key: round(value, 6) if isinstance(value, float) else value
            for key, value in result.items()
        }


class Incident:
    """A monitor with two hooks, in its own store."""

    def __init__(self, folder: str) -> None:
        self.database = Database(f"sqlite:///{folder}/monitor.db")
        schema.ready(self.database)
        with self.database.write() as connection:
            connection.execute(update(store).values(id=STORE))
        requested = settings(limits=LIMITS, reference=REFERENCE, hooks=("ops", "pager"))
        self.scene = Scene(self.database, requested, name="mail-travel")
        self.sinks = {name: Sink() for name in ("log", "mlflow", "ops", "pager")}

    def deliver(self) -> None:
        """Let every sink have what is due."""
        with capture_logs():
            deliver(self.database, self.sinks, lambda: self.scene.now)

    def status(self) -> str:
        """Print what `pr-monitor status` prints."""
        [result] = overviews(self.database, [self.scene.context.settings], self.scene.now)
        terminal = {"COLUMNS": "100", "NO_COLOR": "1"}
        with mock.patch.dict(os.environ, terminal), redirect_stdout(Terminal()) as printed:
            echo_document(overview_lines(with_links(result, link)))
        return printed.getvalue()


def block(text: str, kind: str = "text") -> str:
    """Set a text as it is."""
    return f"```{kind}\n{text.rstrip()}\n```\n"


def webhook(payload: dict[str, Any]) -> str:
    """Write a notice as a webhook posts it."""
    return json.dumps(json.loads(notice_body(read_notice(payload, link))), indent=2)


def drop(incident: Incident) -> list[str]:
    """Precision falls."""
    for number in (1, 2, 3):
        incident.scene.play(number)
    incident.scene.play(4, precision=0.15)
    incident.deliver()
    payload = incident.sinks["ops"].told("alert.firing")
    return [
        "### An alert: precision fell\n",
        "`pr-monitor status`:\n",
        block(incident.status()),
        "A webhook:\n",
        block(webhook(payload), "json"),
    ]


def stale(incident: Incident) -> list[str]:
    """Labels do not come; later there are no predictions either, and MLflow is down."""
    scene = incident.scene
    scene.play(1)
    incident.deliver()
    scene.week(2)
    scene.run(2)
    scene.now += timedelta(days=4, hours=14)
    incident.deliver()
    near = incident.status()
    scene.now += timedelta(hours=11)
    scene.run()
    incident.sinks["mlflow"].error = DeliveryFailed(f"MLflow at {MLFLOW} does not answer")
    incident.deliver()
    with capture_logs(), suppress(SourceRefused):
        scene.run(3)
    incident.deliver()
    return [
        "### A stale round: labels, predictions or MLflow are missing\n",
        "`pr-monitor status` while nobody has answered and the deadline comes near:\n",
        block(near),
        "Later the round has ended without an estimate, the next window holds no predictions, and MLflow\n"
        "is down, which delays no alert:\n",
        block(incident.status()),
    ]


def dead_hook(incident: Incident) -> list[str]:
    """A hook answers 404 for good."""
    incident.sinks["ops"].error = DeliveryFailed(
        "hook ops: https://hooks.example.org answered HTTP 404", lasting=True
    )
    for number in (1, 2, 3):
        incident.scene.play(number)
    incident.scene.play(4, precision=0.15)
    for _ in range(4):
        incident.deliver()
        incident.scene.now += timedelta(hours=5)
    return [
        "### A dead hook\n",
        "The alert has reached `pager`; `ops` has not taken it. `pager` is notified of that (`delivery.dead`), and\n"
        "`pr-monitor status` says:\n",
        block(incident.status()),
    ]


def examples() -> str:
    """Play all incidents."""
    lines: list[str] = []
    for play in (drop, stale, dead_hook):
        with tempfile.TemporaryDirectory() as folder:
            incident = Incident(folder)
            lines += play(incident)
            incident.database.close()
    return "\n".join(lines)


def page(text: str) -> str:
    """Place the examples into their place."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{examples()}\n{END}{tail}"


def messages() -> dict[str, str]:
    """Return each text of three words or more that the program can print, by file and line."""
    root = OUT.parents[2]
    texts = (
        (f"{path.relative_to(root)}:{node.lineno}", _text(node))
        for path in sorted((root / "monitor").rglob("*.py"))
        for node in _text_nodes(ast.parse(path.read_text(encoding="utf-8")))
    )
    return {where: text for where, text in texts if len(text.split()) >= SENTENCE}


def _text_nodes(node: ast.AST) -> Iterator[ast.expr]:
    """Find the texts that are neither docstrings nor lines of the log."""
    match node:
        case (
            ast.Expr(value=ast.Constant())
            | ast.Call(func=ast.Attribute(value=ast.Name(id="log")))
        ):
            return
        case ast.Constant(value=str()) | ast.JoinedStr():
            yield node
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _text_nodes(child)


def _text(node: ast.expr) -> str:
    """Return a text with the expressions of its fields in braces."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    texts = (
        f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else str(part.value)
        for part in parts
        if isinstance(part, ast.FormattedValue | ast.Constant)
    )
    return " ".join("".join(texts).split())


if __name__ == "__main__":
    if "--messages" in sys.argv:
        sys.stdout.writelines(f"{where} {text}\n" for where, text in messages().items())
        sys.exit()
    OUT.write_text(page(OUT.read_text(encoding="utf-8")), encoding="utf-8")
