"""A classifier in memory, weeks of its predictions, and the people who label them."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import JSON, select, text, tuple_

from monitor.domain.alerting import AlertState
from monitor.domain.model import Answer
from monitor.domain.report import RoundReport
from monitor.domain.sample_settings import Bands, Sample
from monitor.domain.settings import (
    Limits,
    MonitorSettings,
    ReferenceMatrix,
    RoundSettings,
    Schedule,
)
from monitor.rounds import run
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.tally import Tally
from monitor.rounds.labels.endpoints import ask
from monitor.rounds.status import Overview, overviews
from monitor.storage.database import Database
from monitor.storage.labels.round_labels import read_labels
from monitor.storage.results import (
    alert_store,
    concern_store,
    estimate_store,
    evidence_store,
    report_store,
)
from monitor.storage.rounds import round_store, round_transitions
from monitor.storage.samples import frame_store
from monitor.storage.tables import metadata, round_parts
from monitor.testing import MemoryLabeler, MemorySource
from tests.storage.payloads import REPORTS

MONDAY = datetime(2025, 3, 3, 6, tzinfo=UTC)
WEEK = timedelta(days=7)
THRESHOLD = 0.5
OTHER = {Answer.POSITIVE: Answer.NEGATIVE, Answer.NEGATIVE: Answer.POSITIVE}
JSON_COLUMNS = {
    column.name
    for table in metadata.sorted_tables
    for column in table.c
    if isinstance(column.type, JSON)
}


def _read(name, value):
    return json.loads(value) if name in JSON_COLUMNS and isinstance(value, str) else value


def week_of_rows(start, *, count=2000, precision=0.8, recall=0.6, share=0.06, seed=1, version=None):
    """A week of predictions with these rates, and the truth of each id."""
    rng = np.random.default_rng(seed)
    flagged = rng.random(count) < share
    missed = precision * share * (1 / recall - 1) / (1 - share)  # what gives recall
    positive = np.where(flagged, rng.random(count) < precision, rng.random(count) < missed)
    noise = rng.random(count)
    score = np.where(flagged, THRESHOLD + noise / 2 * 0.99, noise / 2 * 0.99)
    rows = [
        {
            "id": f"{start:%m%d}-{i:05}",
            "time": start + i * WEEK / count,
            "score": float(score[i]),
            "text": f"item {i}",
            "model_version": version,
        }
        for i in range(count)
    ]
    truth = {
        row["id"]: Answer.POSITIVE if up else Answer.NEGATIVE
        for row, up in zip(rows, positive, strict=True)
    }
    return rows, truth


@dataclass
class Scene:
    """A monitor with stand-ins, and a clock that a test sets."""

    database: Database
    settings: RoundSettings
    source: Any = field(
        default_factory=lambda: MemorySource([], threshold=THRESHOLD, show=["text"])
    )
    truth: dict[str, Answer] = field(default_factory=dict)
    now: datetime = MONDAY
    name: str = "mail"

    def __post_init__(self):
        self.labeler: Any = MemoryLabeler()

    @property
    def context(self) -> MonitorContext:
        return MonitorContext(
            settings=MonitorSettings(name=self.name, round=self.settings),
            database=self.database,
            source=self.source,
            labeler=self.labeler,
            clock=lambda: self.now,
        )

    def week(self, number, **changes):
        """Add the predictions of the week before the slot of round `number`."""
        start = MONDAY + (number - 2) * WEEK
        rows, truth = week_of_rows(start, seed=number, **changes)
        self.source.rows += rows
        self.truth |= truth

    def read(self, query, *args, **named):
        """Ask the store with one of its functions."""
        with self.database.read() as connection:
            return query(connection, *args, **named)

    def write(self, change, *args, **named):
        """Change the store with one of its functions."""
        with self.database.write() as connection:
            return change(connection, *args, **named)

    def execute(self, *statements):
        """Change the store by SQL."""
        with self.database.write() as connection:
            for one in statements:
                connection.execute(text(one) if isinstance(one, str) else one)

    def run(self, number=None, *, later=timedelta(0)):
        """Let the clock show the slot of a round, or a later time, and run what is due."""
        if number is not None:
            self.now = MONDAY + (number - 1) * WEEK
        self.now += later
        run.run(self.context)

    @property
    def tasks(self):
        """All tasks that are out."""
        return [task for tasks in self.labeler.sent.values() for task in tasks.values()]

    def answer(self, share=1.0):
        """Let people answer what is out, all or the first share of it by key."""
        for tasks in self.labeler.sent.values():
            chosen = sorted(tasks.values(), key=lambda task: task.key)
            for task in chosen[: round(share * len(chosen))]:
                self.labeler.answers[task.item_id] = self.truth[task.item_id]

    def collect(self, *numbers):
        """Ask labelers for news of some rounds and store it."""
        ask(self.context, [self.round(number) for number in numbers])

    def items(self, number):
        """Items of a round that people are asked about, in an order that is the same each time."""
        return sorted(task.item_id for task in self.labeler.sent[self.round(number).name].values())

    def answer_round(self, number):
        """Let people answer what is out of one round."""
        self.labeler.answers |= {item: self.truth[item] for item in self.items(number)}

    def flagged(self):
        """All items that the classifier flags."""
        return {row["id"] for row in self.source.rows if row["score"] >= THRESHOLD}

    def judge_flagged(self, number, answer):
        """Let people say the same of all flagged items of a round."""
        self.labeler.answers |= dict.fromkeys(
            self.flagged().intersection(self.items(number)), answer
        )

    def turn(self, *items):
        """Let people say the opposite of what they said."""
        self.labeler.answers |= {item: OTHER[self.labeler.answers[item]] for item in items}

    def draw(self, number, **changes):
        """Add predictions and draw their round."""
        self.week(number, **changes)
        self.run(number)
        return self.round(number)

    def label(self, share=1.0):
        """Let people answer what is out, and run what is due then."""
        self.answer(share)
        self.run()

    def finish(self, number):
        """Let people answer all that a round asks of them, so that it closes."""
        self.label()
        return self.round(number)

    def play(self, number, **changes):
        """Run a whole round: predictions, draw, labels, close."""
        self.draw(number, **changes)
        return self.finish(number)

    def round(self, number):
        rounds = self.read(round_store.find_rounds, self.name)
        return next(round_ for round_ in rounds if round_.number == number)

    def strata(self, number):
        """The strata of a round, as they were drawn."""
        return self.read(frame_store.read_strata, self.round(number).id)

    def labels(self, number):
        """The items of a round, and what people said of them."""
        return self.read(read_labels, self.round(number))

    def readings(self, number):
        """The evidence of a round as it was frozen."""
        found = self.round(number).id
        return self.read(evidence_store.frozen_readings, [found])[found]

    def estimates(self, number, version=None):
        """The estimates of a round, by metric, basis and estimand."""
        found = self.round(number)
        rows = self.read(estimate_store.read_estimates, found.id, version or found.version)
        return {(row.metric, row.basis, row.estimand): row for row in rows}

    def rows(self, query, **values):
        """Rows of a query; JSON, which SQLite has as text, is read."""
        with self.database.read() as connection:
            rows = connection.execute(text(query), values).mappings()
            return [{name: _read(name, value) for name, value in row.items()} for row in rows]

    def reports(self):
        """Reports in the order in which MLflow is told them."""
        return [row["payload"] for row in self.rows(REPORTS)]

    def tally(self, number):
        """What the newest version of a round counted."""
        found = self.round(number)
        return Tally(self.read(estimate_store.read_counts, [found.id])[found.id])

    def report(self, number, version=None):
        """The report of a version of a round, or of its newest."""
        found = self.round(number)
        return self.read(report_store.read_report, found.id, version or found.version)

    def part(self, number, name, version=None):
        """What a part counted of a version of a round, or of its newest; None if nothing."""
        found = self.round(number)
        which = (found.id, found.version if version is None else version, name)
        keys = round_parts.c["round_id", "version", "name"]
        query = select(round_parts.c.counts).where(tuple_(*keys) == which)
        return self.read(lambda connection: connection.scalar(query))

    def round_report(self, number):
        """The newest report of a round, read back."""
        return RoundReport.model_validate(self.report(number))

    def notices(self, sink="log"):
        """What a sink is told, in that order."""
        query = "select payload from effects where kind = 'notice' and sink = :sink order by id"
        return [row["payload"] for row in self.rows(query, sink=sink)]

    def alert_notices(self, sink="log"):
        """What a sink is told of alerts."""
        return [each for each in self.notices(sink) if each["event"].startswith("alert.")]

    def alert_events(self, sink="log"):
        """What happened to alerts, as a sink is told it."""
        return [each["event"] for each in self.alert_notices(sink)]

    def reasons(self, number):
        """Why a round moved, step by step."""
        events = self.read(round_transitions.read_events, self.round(number).id)
        return [event["reason"] for event in events]

    def alerts(self):
        return self.read(alert_store.find_alerts)

    def alert_states(self):
        """The round in which each alert fired, and its state."""
        return [(alert.fired_in_round, alert.state) for alert in self.alerts()]

    def closings(self, metric="precision"):
        """What each closing froze about a limit, by the number of its round, in that order."""
        rows = self.rows(
            "select r.number, e.* from evidence e join rounds r on r.id = e.round_id"
            ' where e.metric = :metric and e.version = r.first_version order by e."order"',
            metric=metric,
        )
        return {row["number"]: row for row in rows}

    def end_alert(self, alert):
        """Let a person end an alert."""
        self.write(alert_store.end, alert.id, AlertState.RESOLVED, why="known", now=self.now)

    def concerns(self, number):
        """Concerns about a round: the sentence of each kind."""
        return self.read(concern_store.read_concerns, self.round(number).id)

    def overview(self):
        """Ask how the monitor stands."""
        return overview(self.database, self.context.settings, self.now)


def segmented(database, kind=Scene, columns=("country", "client"), **changes):
    """A scene whose predictions have columns of segments."""
    source = MemorySource([], threshold=THRESHOLD, show=["text"], segments=list(columns))
    return kind(database, settings(**changes), source)


def overview(database, monitor: MonitorSettings, now: datetime) -> Overview:
    """Ask how one monitor stands."""
    return overviews(database, [monitor], now)[0]


def settings(*, labels=200, **changes) -> RoundSettings:
    """Settings of a round that draws so many items by class, unless ``sample`` says otherwise."""
    asked: dict[str, Any] = {
        "threshold": THRESHOLD,
        "schedule": Schedule(cron="0 6 * * MON"),
        "sample": Sample(max_labels=labels, bands=Bands(flagged=1, passed=1)),
        "deadline": timedelta(days=5),
        "late_labels": timedelta(days=90),
    }
    return RoundSettings(**(asked | changes))


LIMITS = Limits.model_validate({"precision": 0.7, "recall": 0.4})
REFERENCE = ReferenceMatrix(tp=48, fp=12, fn=32, tn=908)
