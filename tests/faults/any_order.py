"""A small monitor whose outside fails, dies and comes back on demand, in one process."""

import random
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from monitor.domain import crashpoint
from monitor.domain.alerting import AlertState
from monitor.domain.errors import DeliveryFailed, MonitorError
from monitor.domain.model import Answer, EffectKind
from monitor.domain.report import RoundReport
from monitor.domain.sample_settings import Bands, Sample
from monitor.domain.settings import Limits, MonitorSettings
from monitor.rounds import run
from monitor.rounds.context import MonitorContext
from monitor.rounds.reporting.enqueue import enqueue_ended
from monitor.service import loop
from monitor.storage.database import Database
from monitor.storage.results import alert_store
from monitor.testing import MemoryLabeler, MemorySource
from monitor.tracking import values
from monitor.tracking.mlflow import FLEET_KEY, ROUND_KEY
from monitor.wiring import Application
from tests.crashes import at_points, killed_at
from tests.faults.invariants import Outside, SeenRun
from tests.rounds.scene import (
    LIMITS,
    MONDAY,
    REFERENCE,
    THRESHOLD,
    WEEK,
    settings,
    week_of_rows,
)

WEEKS = 12
EARLIER = 4
"""Weeks with predictions before the first round, for backfills."""

DROPS = 0.3
"""Share of the weeks in which few of the flagged items are positive; in the others most are."""

QUICK = Limits.model_validate({"precision": 0.5, "recall": 0.1, "false_alarm_every": 2})
"""Limits that fire at the first drop, since one false alarm in two rounds is allowed, and that a
few good rounds show to be kept again."""

FEW, OTHER_BANDS = Sample(max_labels=12, bands=Bands(flagged=1, passed=1)), Sample(max_labels=16)


def _weeks(precision):
    rows: list[dict[str, Any]] = []
    truth: list[dict[str, Answer]] = []
    for number in range(1 - EARLIER, WEEKS + 1):
        start = MONDAY + (number - 2) * WEEK
        drawn, true = week_of_rows(
            start, count=80, share=0.3, precision=precision, seed=number + 100
        )
        rows += drawn
        truth.append(true)
    return rows, truth


ROWS, GOOD = _weeks(0.95)
_, BAD = _weeks(0.02)
FLAGGED = frozenset(row["id"] for row in ROWS if row["score"] >= THRESHOLD)
PATIENT = {"sample": FEW, "hooks": ("ops",), "deadline": 6 * WEEK}
CONFIGS = (
    settings(limits=QUICK, reference=REFERENCE, **PATIENT),
    settings(limits=LIMITS, **PATIENT),
    settings(limits=QUICK, sample=FEW, hooks=("ops",)),
    settings(sample=FEW, hooks=("ops",)),
    settings(sample=OTHER_BANDS, limits=QUICK, hooks=("ops",)),
)
"""Some wait for labels until long after the next rounds; the last has other bands, which open a
new history."""


@dataclass
class Sink:
    """A hook, or MLflow, that keeps what it took; it may be down, or lose its answer once."""

    name: str
    told: list[dict[str, Any]] = field(default_factory=list)
    runs: dict[tuple[str, str], SeenRun] = field(default_factory=dict)
    down: bool = False
    loses_answer: bool = False
    lost: int = 0

    def deliver(self, effect):
        if self.down:
            message = f"{self.name} is down"
            raise DeliveryFailed(message)
        if effect.kind is EffectKind.NOTICE:
            self._note(effect)
        else:
            self._write_run(effect)
        if self.loses_answer:
            self.loses_answer, self.lost = False, self.lost + 1
            message = f"{self.name} gave no answer"
            raise DeliveryFailed(message, sink_down=False)
        return "taken"

    def _note(self, effect):
        notice = effect.payload
        self.told.append(
            {
                "sink": self.name,
                "effect": effect.id,
                "key": effect.key,
                "id": notice["id"],
                "alert": notice.get("alert"),
                "event": notice.get("event"),
            }
        )

    def _write_run(self, effect):
        report = RoundReport.model_validate(effect.payload)
        of_round = effect.kind is EffectKind.ROUND_RUN
        key = (
            (ROUND_KEY, report.round_key)
            if of_round
            else (FLEET_KEY, f"{report.store_id}/{report.monitor}")
        )
        before = self.runs.get(key, SeenRun(live=True, tags=dict([key]), metrics={}))
        metrics = {(name, report.round): of for name, of in values.metrics(report).items()}
        tags = {"monitor.version": str(report.version)} if of_round else {}
        self.runs[key] = replace(
            before, tags={**before.tags, **tags}, metrics={**before.metrics, **metrics}
        )


class ShuffledLabeler(MemoryLabeler):
    """Brings its events in any order, and some of them twice."""

    def __init__(self, rng):
        super().__init__()
        self.rng = rng

    def collect(self, tasks, cursor):
        collected = super().collect(tasks, cursor)
        events = list(collected.events)
        events += self.rng.sample(events, len(events) // 3)
        self.rng.shuffle(events)
        return replace(collected, events=tuple(events))


@dataclass
class Worker:
    """A process by name: it has its own connections, and its end can be known by others."""

    name: str
    database: Database


class Stage:
    """Two workers on one store, and all they work with."""

    def __init__(self, url, seed):
        self.url = url
        self.now = self.newest = MONDAY
        self.rng = random.Random(seed)  # noqa: S311
        self.truth: dict[str, Answer] = {}
        for good, bad in zip(GOOD, BAD, strict=True):
            self.truth |= bad if self.rng.random() < DROPS else good
        self.settings = CONFIGS[0]
        self.source = MemorySource(ROWS, threshold=THRESHOLD, show=["text"])
        self.labeler = ShuffledLabeler(self.rng)
        self.sinks = {name: Sink(name) for name in ("log", "ops", "mlflow")}
        self.lives = 0
        self.removed: set[str] = set()
        self.kills = 0
        self.filled_from: datetime | None = None
        self.workers = [self._born(), self._born()]
        self.running = self.workers[0]

    def plant_week(self, newest, *, drop):
        """Say whether the classifier was good or bad in a round's week, counted from the newest."""
        weeks = (self.newest - MONDAY) // WEEK + EARLIER - newest
        self.truth |= (BAD if drop else GOOD)[weeks]

    def _born(self):
        self.lives += 1
        return Worker(f"life {self.lives}", Database(self.url))

    def application(self, worker):
        context = MonitorContext(
            settings=MonitorSettings(name="mail", round=self.settings),
            database=worker.database,
            source=self.source,
            labeler=self.labeler,
            clock=lambda: self.now,
        )
        config: Any = SimpleNamespace(monitors=(context.settings,))
        sinks: dict[str, Any] = {**self.sinks}
        clock, database = context.clock, context.database
        return Application(config, database, (context,), sinks, clock, link=lambda _: None)

    def tick(self, which=0):
        """Let a worker do what is due; returns the bugs it met."""
        before, self.running = self.running, self.workers[which]
        try:
            application = self.application(self.running)
            done = loop.one_pass(application, application.monitors)
        finally:
            self.running = before
        bugs = [str(error) for error in done.errors.values() if "stopped by a bug" in str(error)]
        return bugs + [why for why in done.delivered.failed.values() if "handler broke" in why]

    def backfill(self, weeks):
        """Let a third process run the windows of so many weeks before the first slot, and later."""
        start = MONDAY - (weeks + 1) * WEEK
        start = self.filled_from = min(start, self.filled_from or start)
        before, self.running = self.running, self._born()
        try:
            [context] = self.application(self.running).monitors
            for _ in run.backfill(context, start):
                pass
        except MonitorError:
            return []
        except Exception as error:  # noqa: BLE001  whatever it is, it is a bug
            return [f"backfill: {error!r}"]
        finally:
            self.removed.add(self.running.name)
            self.running.database.close()
            self.running = before
        return []

    def end_alerts(self):
        """Let a person end every open alert, as `pr-monitor alerts resolve` does."""
        with self.workers[0].database.write() as connection:
            for alert in alert_store.find_alerts(connection, state=AlertState.FIRING):
                why = "known"
                alert_store.end(connection, alert.id, AlertState.RESOLVED, why=why, now=self.now)
                enqueue_ended(connection, alert, why, self.now)

    def tick_killed(self, place):
        """Let the first worker die at one of its crash points; another is born in its place."""
        with killed_at(place) as points:
            self.tick()
        if len(points) > place:
            self.kills += 1
            self.removed.add(self.workers[0].name)
            self.workers[0].database.close()
            self.workers[0] = self._born()

    def tick_beside(self, place):
        """Let the second worker do all it can while the first stands at one of its points."""
        passed, bugs = [0], []

        def let_other(name):
            passed[0] += 1
            if passed[0] > place and name != "commit":  # a commit holds the store
                crashpoint.hook = None
                bugs.extend(self.tick(1))

        with at_points(let_other):
            bugs += self.tick()
        return bugs

    def all_well(self):
        self.source.down = self.labeler.down = False
        for sink in self.sinks.values():
            sink.down = sink.loses_answer = False

    def end(self):
        """All is up again; time goes on until nothing waits."""
        self.all_well()
        self.now = self.newest
        bugs = self.backfill(0) if self.filled_from else []  # as far back as it was asked for
        for which in (0, 1) * 4:
            self.now = self.newest = self.newest + timedelta(hours=26)
            bugs += self.tick(which)
        return bugs + self.tick()  # what the last one told the sinks made them say more

    def outside(self, taking, retire):
        """What left the program.

        ``taking`` are the keys of tasks whose rounds take labels, ``retire`` those of rounds
        that ended without an estimate: nobody is asked for them any more.
        """
        out = [task for tasks in self.labeler.sent.values() for task in tasks.values()]
        return Outside(
            runs=list(self.sinks["mlflow"].runs.values()),
            told=[line for name in ("log", "ops") for line in self.sinks[name].told],
            tasks=[task.key for task in out if task.key not in retire] + sorted(retire),
            said={
                task.key: self.labeler.answers[task.item_id]
                for task in out
                if task.key in taking and task.item_id in self.labeler.answers
            },
        )

    @property
    def repeats(self):
        return self.kills + sum(sink.lost for sink in self.sinks.values())

    def close(self):
        for worker in self.workers:
            worker.database.close()
