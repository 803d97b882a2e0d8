"""A user's folder for tests of the command line: predictions, a config, and the command itself.

The newest slot is 20 minutes ago and the next one most of a day away, so that no test meets a
slot while it runs. Every day is the same `NOW`, so that each run of a test draws the same items.
"""

from __future__ import annotations

import functools
import io
import json
import os
import re
import sqlite3
import sys
import time
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from unittest import mock

import pytest
import structlog
import typer.main

from monitor.cli import main
from monitor.domain.report import RoundReport
from monitor.tracking.describe import describe
from monitor.wiring import build
from tests.csv_files import write_rows
from tests.engine import engine

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 9, 16, 13, 27, 41, tzinfo=UTC)
"""A Wednesday, on which nothing else begins or ends."""
NOWHERE = "http://127.0.0.1:9"
"""Where no MLflow answers: the discard port, which nothing listens on."""

CONFIG = """\
store: sqlite:///monitor.db
mlflow: {{tracking_uri: {mlflow}}}
monitors:
  - name: mail
    source:
      path: predictions.parquet
      columns: {{id: mail_id, time: scored_at, score: score, show: [subject]}}
      threshold: 0.5
    schedule: {{cron: "{cron}", time_zone: UTC}}
    sample: {{max_labels: 40, bands: {{flagged: 1, passed: 1}}}}
    labeling: {labeling}
"""
_COMMANDS = functools.cache(typer.main.get_command)
"""The commands, made once: to make them takes longer than most of them run."""
PEOPLE = "{kind: files}"
TELL_PROBLEMS = {"check", "alerts"}  # by their exit codes too
COLUMN = "{kind: column, path: predictions.parquet, id: mail_id, value: is_travel, matures: 1s}"


def save(path, rows):
    """Write rows as a CSV file that was saved two seconds ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_rows(path, rows)
    os.utime(path, (time.time() - 2,) * 2)
    return path


@dataclass(frozen=True)
class Ended:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self):
        """Lines of both outputs."""
        return [*self.out.splitlines(), *self.err.splitlines()]

    def line(self, words):
        """The only line that holds these words."""
        [line] = [line for line in self.lines if words in line]
        return line


@contextmanager
def working_in(folder):
    """Work in a folder, for fixtures of more than one test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield Workplace(folder)


@dataclass
class Workplace:
    """A folder in which commands run, and the slots of its schedule.

    Its clock starts at ``now`` and goes on while a command runs; ``spent`` is how far it has come.
    """

    folder: Path
    now: datetime = NOW
    said: Ended | None = None
    spent: timedelta = timedelta()

    @property
    def slot(self):
        """The newest slot."""
        return (self.now - timedelta(minutes=20)).replace(second=0, microsecond=0)

    @property
    def cron(self):
        """Daily at the slot's time."""
        return f"{self.slot.minute} {self.slot.hour} * * *"

    def at(self, time):
        """Say a time as the command line does."""
        return f"{time:%Y-%m-%d %H:%M}"

    def until(self, status):
        """Until when the round waits, by what `status` said."""
        told = re.search(r"waits until (\d{4}-\d\d-\d\d \d\d:\d\d) UTC", status.out)
        assert told is not None, status.out
        return told[1]

    def config(self, labeling=COLUMN, mlflow=NOWHERE, **changes):
        """Write the config; each change replaces a text, given as before and after."""
        text = CONFIG.format(mlflow=mlflow, cron=self.cron, labeling=labeling)
        for before, after in changes.values():
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        self.write("config.yaml", text)

    def run_at(self, time, *words):
        """Run the command line as if it were another time."""
        return self._run_with(lambda: time, *words)

    def as_json(self, *words, at=None):
        """What a command prints for programs, now or at another time."""
        ended = self.run(*words, "--json") if at is None else self.run_at(at, *words, "--json")
        assert ended.out, ended.err
        told = json.loads(ended.out)
        assert ended.code == 0 or words[0] in TELL_PROBLEMS, ended.code
        return told

    def checked(self, labeling=COLUMN, *, columns=None, **changes):
        """Write predictions and the config; returns what `check` says of them."""
        self.predictions(**(columns or {}))
        self.config(labeling, **changes)
        return self.run("check")

    def backfill(self, days):
        """Run the windows of the last days."""
        start = self.slot - timedelta(days=days)
        return self.run("backfill", "--from", f"{start:%Y-%m-%dT%H:%M}")

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def predictions(self, name="predictions.parquet", rows=800, days=4, **columns):
        """Write predictions evenly over the last days; columns replace those of the same name.

        One in ten is flagged; of the flagged 4 in 5 are positive, of the others 1 in 20.
        """
        flagged, start = "(i % 10 = 0)", self.now - timedelta(days=days)
        step = timedelta(days=days) / max(rows, 1)
        usual = {
            "mail_id": "'m' || lpad(i::varchar, 4, '0')",
            "scored_at": f"timestamptz '{start.isoformat()}' + {step.total_seconds()} * i"
            " * interval 1 second",
            "score": f"case when {flagged} then 0.5 + (i % 70) / 200 else (i % 90) / 200 end",
            "subject": "'subject ' || i",
            "is_travel": f"case when {flagged} then i % 50 > 0 else i % 20 = 1 end::int",
        }
        listed = ", ".join(f"{sql} as {of}" for of, sql in {**usual, **columns}.items())
        with engine() as connection:
            connection.execute(
                f"copy (select {listed} from range({rows}) t(i)) to '{self.folder / name}'"
            )

    def select_from(self, sql):
        """Ask the predictions of the newest window, which is a quarter of them."""
        path = self.folder / "predictions.parquet"
        with engine() as connection:
            connection.execute(
                f"create temp view newest as from '{path}' where mail_id[2:]::int >= (select max("
                f"mail_id[2:]::int) - 5000 from '{path}')"
            )
            return connection.execute(f"{sql} from newest").fetchall()

    def select(self, name, where, extra=None, to="predictions.parquet"):
        """Write the predictions of another file that a condition holds for."""
        more = "" if extra is None else f", {extra}"
        with engine() as connection:
            connection.execute(
                f"copy (select *{more} from '{self.folder / name}' where {where})"
                f" to '{self.folder / to}'"
            )

    def stored_predictions(self):
        """Write the predictions into the table ``scored`` of ``p.sqlite`` too."""
        path = self.folder / "predictions.parquet"
        with engine() as connection:
            found = connection.execute(
                "select * replace (strftime(scored_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')"
                f" as scored_at) from '{path}'"
            )
            columns, rows = (
                [f"{name} {kind}" for name, kind, *_ in found.description],
                found.fetchall(),
            )
        with closing(sqlite3.connect(self.folder / "p.sqlite")) as connection:
            connection.execute(f"create table scored ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            connection.executemany(f"insert into scored values ({marks})", rows)
            connection.commit()

    def query(self, sql, *values, store="monitor.db"):
        """Execute a statement in a store of the folder; returns its rows."""
        with closing(sqlite3.connect(self.folder / store)) as connection, connection:
            return connection.execute(sql, values).fetchall()

    def run(self, *words, out=None):
        """Run the command line as a shell does, but in this process.

        ``out`` may be a standard output of another kind, such as a terminal.
        """
        begun, real = self.now + self.spent, time.monotonic()

        def spent():
            return timedelta(seconds=time.monotonic() - real)

        ended = self._run_with(lambda: begun + spent(), *words, out=out)
        self.spent += spent()
        return ended

    def _run_with(self, clock, *words, out=None):
        out, err = out or io.StringIO(), io.StringIO()
        line = ["pr-monitor", *map(str, words)]
        with (
            mock.patch.dict(build.__kwdefaults__, clock=clock),
            mock.patch.object(sys, "argv", line),
            mock.patch.object(typer.main, "get_command", _COMMANDS),
            redirect_stdout(out),
            redirect_stderr(err),
            pytest.raises(SystemExit) as ended,
        ):
            main()
        structlog.reset_defaults()  # the log was bound to this standard error
        assert "Traceback" not in err.getvalue()
        return Ended(int(ended.value.code or 0), out.getvalue(), err.getvalue())

    def description(self):
        """Return the description that the run of the newest round has in MLflow."""
        [*_, (payload,)] = self.query("select payload from reports order by round_id, version")
        return describe(RoundReport.model_validate_json(payload))

    def assert_sizes_are_those_of_files(self):
        """Assert that the closed round has the strata that its predictions have in a file."""
        shown = self.as_json("show", "1")
        self.config(COLUMN)
        text = (self.folder / "config.yaml").read_text()
        self.write("other.yaml", text.replace("name: mail", "name: files"))
        self.run("run-once", "--config", "other.yaml")
        beside = self.as_json("show", "1", "-m", "files", "--config", "other.yaml")
        sizes = [[row["size"] for row in page["strata"]] for page in (shown, beside)]
        assert shown["state"] == beside["state"] == "closed"
        assert sizes[0] == sizes[1]
        assert beside["snapshot"] is None
        return shown
