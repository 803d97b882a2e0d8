"""No statement of a pass reads a table from end to end that grows with the history."""

from datetime import timedelta

import pytest

from benchmarks import answers_at_size as long_monitor
from benchmarks.copied_rounds import analyze, fill
from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Sample
from monitor.domain.settings import Limits, MonitorSettings, Schedule
from monitor.labeling.page import PageLabeler
from monitor.labeling.page_settings import PageSettings
from monitor.rounds import run
from monitor.rounds.context import MonitorContext
from monitor.rounds.delivery import deliver, retire_orphans
from monitor.rounds.opening.removed_monitors import end_removed_monitors, forget_removed_monitors
from monitor.service.change_detection import ChangeDetector
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.pages import page_store
from monitor.storage.pages.page_tables import page_answers
from monitor.storage.rounds import round_store
from monitor.testing import MemorySource
from tests.rounds.scene import MONDAY, settings
from tests.rounds.sinks import Sink
from tests.servers import new_database
from tests.storage.plans import Sent, fill_the_rest, read_whole, recorded

pytestmark = pytest.mark.postgresql

MONITORS, ROUNDS, LONG = 80, 50, 40
NOW = MONDAY + timedelta(hours=1)
LIMITS = Limits.model_validate({"precision": 0.5, "recall": 0.2})
SAMPLE = Sample(max_labels=60, bands=Bands(flagged=1, passed=1))
"""Small, so that filling the store takes seconds."""


class Stage:
    """Many monitors with a past, and one of them whose day is played."""

    def __init__(self, url, folder):
        self.database = Database(url)
        schema.ready(self.database)
        self.now = NOW
        self.folder = folder
        weekly = settings(sample=SAMPLE, limits=LIMITS)
        daily = settings(
            sample=SAMPLE,
            limits=LIMITS,
            schedule=Schedule(cron="0 6 * * *"),
            late_labels=timedelta(days=14),
            overlap=0.2,
        )
        others = [
            MonitorSettings(name=f"mail-{number:04}", round=weekly) for number in range(MONITORS)
        ]
        self.settings = MonitorSettings(name="long", round=daily)
        self.names = [*(each.name for each in others), self.settings.name]
        fill(self.database, others, ROUNDS, NOW)
        long_monitor.fill_long(self.database, self.settings, self.page, LONG, NOW)
        with self.database.engine.connect() as connection:
            fill_the_rest(connection, LONG)
            connection.commit()
        analyze(self.database)
        self.sent: Sent = {}
        self.source = MemorySource([], threshold=0.5, show=["text"])

    def page(self, clock):
        question = PageSettings(question="Is this mail really about travel?")
        return PageLabeler(question, self.folder, clock, self.database)

    def passes(self):
        """Do all that passes do: open, draw, ask, take labels, close, correct, deliver, rest."""
        idle = ChangeDetector(self.database, lambda: self.now, {self.settings.name: "as it is"})
        self.now += timedelta(days=1)
        self.source.rows = long_monitor.day_of_rows(LONG + 1, self.now - timedelta(days=1), 300)
        self._one(idle)
        for _ in range(2):  # the tasks, and the copies of another person
            long_monitor.answer(self.database, self.settings.name, self.now)
            self._one(idle)
        self._change_an_answer()
        self._one(idle)
        self._one(idle)
        self.now += timedelta(days=100)  # labels of old rounds are taken no longer
        self.source.rows = long_monitor.day_of_rows(LONG + 2, self.now - timedelta(days=1), 300)
        self._one(idle)

    def _one(self, idle):
        self.now += timedelta(minutes=1)
        with recorded(self.database.engine, self.sent):
            self._pass(idle)

    def _pass(self, idle):
        database, sinks = self.database, {"log": Sink(), "mlflow": Sink()}
        page = self.page(lambda: self.now)
        context = MonitorContext(self.settings, database, self.source, page, clock=lambda: self.now)
        for look in idle.needed([context]):
            run.run(context)
            idle.record_check(look, well=True)
        idle.keep()
        retire_orphans(database, sinks, lambda: self.now)
        end_removed_monitors(database, self.names, lambda: self.now)
        forget_removed_monitors(database, self.names, lambda: self.now)
        deliver(database, sinks, lambda: self.now)

    def _change_an_answer(self):
        with self.database.write() as connection:
            newest = connection.execute(
                page_answers.select().order_by(page_answers.c.id.desc()).limit(1)
            ).one()
            before = page_store.statements(connection, [newest.task_key])[-1]
            other = Answer.NEGATIVE if before.answer is Answer.POSITIVE else Answer.POSITIVE
            page_store.record_answer(
                connection, newest.task_key, newest.annotator, other, before=before, now=self.now
            )


@pytest.fixture(scope="module")
def stage(postgres_server, tmp_path_factory):
    stage = Stage(new_database(postgres_server, "plans"), tmp_path_factory.mktemp("plans"))
    stage.passes()
    analyze(stage.database)
    yield stage
    stage.database.close()


def whole(connection, stage):
    found = {sql: read_whole(connection, sql, values) for sql, values in stage.sent.items()}
    return {sql: steps for sql, steps in found.items() if steps}


def test_no_statement_of_a_pass_reads_a_growing_table_from_end_to_end(stage):
    with stage.database.read() as connection:
        versions = {
            round_.number: (round_.state, round_.version)
            for round_ in round_store.find_rounds(connection, "long")
        }

    assert versions[LONG + 1] == ("closed", 2)  # a changed answer corrected it
    assert len(stage.sent) > 70
    with stage.database.engine.connect() as connection:
        assert whole(connection, stage) == {}
