"""A monitor and its whole outside, all in files, so that it survives the process that made it.

A life goes through the stages of some rounds, from the stage in which the last life ended: the slot
comes, people fill the task files, somebody changes an answer after the round closed, the time for
late labels ends. The clock is the stage's.
"""

import json
import os
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import structlog
from sqlalchemy import Engine, text

from monitor.domain.errors import MonitorError
from monitor.domain.settings import Limits, MonitorSettings, ReferenceMatrix
from monitor.labeling.files import FilesLabeler, FilesSettings
from monitor.rounds.context import MonitorContext
from monitor.service import loop
from monitor.storage import database
from monitor.storage.database import Database
from monitor.storage.outbox import effect_store
from monitor.storage.rounds import round_claims
from monitor.testing import MemorySource
from monitor.tracking.connection import load_mlflow
from monitor.wiring import Application
from tests.csv_files import read_rows, write_rows
from tests.faults import recorded_mlflow
from tests.faults.few_points import fewer_points
from tests.faults.invariants import Outside
from tests.faults.recorded_mlflow import everything_in, recorded_handler, recorded_runs
from tests.rounds.scene import MONDAY, THRESHOLD, WEEK, settings, week_of_rows

CANARY = "canary-of-a-payload"
DAY = timedelta(days=1)
TRIES = 60
SETTINGS = settings(
    labels=12,
    limits=Limits.model_validate({"precision": 0.9, "false_alarm_every": 2}),
    hooks=("ops",),
    reference=ReferenceMatrix(tp=48, fp=5, fn=32, tn=915),
    late_labels=timedelta(days=3),
)


@dataclass(frozen=True)
class Stage:
    """What people do, and what the clock shows so long after the first slot, of which round."""

    act: str
    number: int
    after: timedelta

    @property
    def now(self) -> datetime:
        return MONDAY + self.after


@dataclass(frozen=True)
class World:
    """Where everything is, and how many rounds it has: each is drawn, labeled and corrected."""

    url: str
    folder: str
    rounds: int = 1

    @property
    def path(self) -> Path:
        return Path(self.folder)

    @property
    def stages(self) -> list[Stage]:
        acts = (("wait", timedelta(0)), ("fill", DAY), ("change", 2 * DAY))
        slots = [(number, (number - 1) * WEEK) for number in range(1, self.rounds + 1)]
        stages = [Stage(act, number, slot + after) for number, slot in slots for act, after in acts]
        return [*stages, Stage("wait", self.rounds, slots[-1][1] + 6 * DAY)]

    def application(self, clock) -> Application:
        """Build what a pass of the service needs of `monitor.wiring.Application`."""
        store = Database(self.url)
        context = MonitorContext(
            settings=MonitorSettings(name="mail", round=SETTINGS),
            database=store,
            source=source(self.rounds),
            labeler=FilesLabeler(FilesSettings(), self.path),
            clock=clock,
        )
        handlers: dict[str, Any] = {
            "log": Told(self.path / "told.jsonl"),
            "ops": Told(self.path / "told.jsonl"),
            "mlflow": recorded_handler(self.path / "mlflow.db"),
        }
        config: Any = SimpleNamespace(monitors=[context.settings])
        return Application(config, store, (context,), handlers, clock, link=lambda _: None)

    def note(self, name, what):
        """Add a line to one of the world's files, as no death can take away."""
        append(self.path / f"{name}.jsonl", what)

    def noted(self, name):
        path = self.path / f"{name}.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [row for row in map(whole_row, lines) if row is not None]


def source(rounds):
    """Make predictions of a classifier that is bad in every round."""
    rows: list[dict[str, Any]] = []
    for number in range(1, rounds + 1):
        start = MONDAY + (number - 2) * WEEK
        drawn, truth = week_of_rows(start, count=100, share=0.2, precision=0.15, seed=number)
        for row in drawn:
            row["text"] = f"{CANARY}, in truth {truth[row['id']]}"
        rows += drawn
    return MemorySource(rows, threshold=THRESHOLD, show=["text"])


def append(path, what):
    """Add a row. One of several pages that a death cuts short spoils no line but its own."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"\n{json.dumps(what, default=str)}\n".encode())
    os.close(file)


def whole_row(line):
    """Read a row of `append`; None of an empty line, and of what a death has cut short."""
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


class Told:
    """A hook: everything that arrives is written down, also what arrives again."""

    def __init__(self, path):
        self.path = path

    def deliver(self, effect):
        row = {
            "effect": effect.id,
            "key": effect.key,
            "id": effect.payload["id"],
            "sink": effect.sink,
            "alert": effect.payload.get("alert"),
            "event": effect.payload["event"],
            "attempt": effect.attempt,
            "text": json.dumps(dict(effect.payload)),
        }
        append(self.path, row)
        return f"attempt {effect.attempt}"


def live(world: World, *, patient: bool = False) -> None:
    """Go through all stages from the one that the last life had come to.

    Where something is in its way, a patient life looks again and again, some minutes later each
    time; another one ends. What it was is written down.
    """
    log_into(world.path / "log.txt")
    stages = world.stages
    begun = max(world.noted("stage"), default=0)
    now = stages[begun].now
    application = world.application(lambda: now)
    for place in range(begun, len(stages)):
        stage = stages[place]
        now = stage.now
        world.note("stage", place)
        for _ in range(TRIES):
            trouble = _try(world, application, stage)
            if not trouble:
                break
            world.note("trouble", {"stage": place, "what": trouble, "pid": os.getpid()})
            if not patient:
                application.database.close()
                return
            time.sleep(0.02)
            now += timedelta(minutes=20)
    application.database.close()


def _try(world, application, stage) -> list[str]:
    try:
        if not act(world, stage):
            loop.one_pass(application, application.monitors)
            return ["there is no task file yet"]
        done = loop.one_pass(application, application.monitors)
    except MonitorError as error:
        return [_told(error)]
    trouble = [_told(error) for error in done.errors.values()]
    trouble += [f"not delivered to {sink}: {why}" for sink, why in done.delivered.failed.items()]
    if trouble:
        return trouble
    with suppress(MonitorError):
        return unquiet(application, stage)
    return ["the store did not say whether all is done"]


def _told(error):
    return f"{type(error).__name__} ({error.exit_code}): {error}"


def unquiet(application, stage) -> list[str]:
    """Say what is still to be done."""
    queries = {
        "an effect waits": "select count(*) from effects where status <> 'done'",
        "a task is not out": "select count(*) from tasks where sent_at is null",
        "a slot has no round": f"select {stage.number} - count(*) from rounds",
        "a round is not drawn": "select count(*) from rounds where state = 'open'",
        "labels are not estimated": "select count(*) from rounds where state = 'closed'"
        " and estimated_revision <> label_revision",
    }
    if stage.act != "wait":
        queries["a round is not closed"] = (
            f"select count(*) from rounds where state = 'labeling' and number = {stage.number}"
        )
    with application.database.read() as connection:
        return [
            f"still to be done: {what} ({count})"
            for what, query in queries.items()
            if (count := connection.execute(text(query)).scalar_one()) > 0
        ]


def act(world, stage) -> bool:
    """Let people do their part, once; false where they cannot yet."""
    if stage.act == "wait":
        return True
    name = f"mail-{MONDAY + (stage.number - 1) * WEEK:%Y-%m-%dT%H%M}"
    folder = world.path / "labels"
    target = folder / "filled" / f"{name}-{stage.act}.csv"
    if target.exists():
        return True
    begun = {
        "fill": folder / (f"{name}.csv"),
        "change": folder / f"filled/{name}-fill.csv",
    }[stage.act]
    if not begun.exists():
        return False
    rows = read_rows(begun)
    answers = (
        [rows[0] | {"label": str(1 - int(rows[0]["label"]))}]
        if stage.act == "change"
        else [_filled(row) for row in rows]
    )
    _write(target, answers, stage.now.timestamp())
    return True


def _filled(row):
    return row | {"label": str(int("in truth 1" in row["text"])), "annotator": "ada"}


def _write(target, rows, at):
    """Let a file appear whole and with its time, since others look into the folder meanwhile."""
    unfinished = target.parent / f".{os.getpid()}"
    write_rows(unfinished, rows)
    os.utime(unfinished, (at, at))
    unfinished.replace(target)


def prepare() -> None:
    """Make this process the one whose forks live: nothing loads later."""
    load_mlflow()
    fewer_points(2**6)
    database._engine = _warmed_engine


_FIRST: dict[str, Engine] = {}


def _warmed_engine(url, make=database._engine):
    """Make engines that share what the first one compiled, which is half of what a life costs."""
    engine = make(url)
    first = _FIRST.setdefault(engine.dialect.name, engine)
    if first is not engine:
        engine.dialect = engine.pool._dialect = first.dialect
        engine._compiled_cache = first._compiled_cache
    return engine


def log_into(path: Path) -> None:
    """Keep every log line of this process, to look for what should not be there."""
    structlog.configure(
        processors=[structlog.processors.format_exc_info, structlog.processors.JSONRenderer()],
        logger_factory=structlog.WriteLoggerFactory(file=path.open("a")),
        cache_logger_on_first_use=False,
    )


def claims_last(seconds: float) -> None:
    """Let claims run out while a test waits; a delivery still ends long before its claim."""
    round_claims.CLAIM_MS = effect_store.CLAIM_MS = round(seconds * 1000)
    recorded_mlflow.PATIENCE = seconds / 4


def died(world):
    """Write down why a life ended that should not have."""
    world.note("trouble", {"what": [traceback.format_exc()], "pid": os.getpid()})


def outside(world: World, secrets) -> Outside:
    """Gather what left the program in this world."""
    labels = world.path / "labels"
    said: dict[str, str] = {}
    for path in sorted((labels / "filled").glob("*.csv"), key=lambda p: p.stat().st_mtime):
        said |= {row["task"]: row["label"] for row in read_rows(path)}
    told = world.noted("told")
    log = world.path / "log.txt"
    return Outside(
        runs=recorded_runs(world.path / "mlflow.db"),
        told=told,
        tasks=[row["task"] for path in labels.glob("*.csv") for row in read_rows(path)],
        said=said,
        texts={
            "log": log.read_text() if log.exists() else "",
            "told": "".join(line["text"] for line in told),
            "MLflow": everything_in(world.path / "mlflow.db"),
        },
        secrets=secrets,
    )
