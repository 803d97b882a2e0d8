"""No query that a round needs reads a whole table, so a store may hold years of many monitors."""

import re
from dataclasses import replace

import pytest

from monitor.domain.sample_settings import Bands, Sample
from monitor.rounds.classes import lost_windows, publish_classes
from monitor.rounds.delivery import deliver, retire_orphans
from monitor.rounds.open_rounds import all_open_rounds
from monitor.rounds.opening.removed_monitors import forget_removed_monitors
from monitor.rounds.status import overviews
from monitor.service.change_detection import ChangeDetector
from monitor.service.web.metrics import Own, exposition
from tests.rounds.scene import MONDAY, WEEK, Scene, settings
from tests.rounds.sinks import Sink
from tests.storage.plans import Sent, recorded
from tests.storage.released.write import play

GROWING = "items|payloads|tasks|label_events|counts|estimates|evidence|effects|round_events|rounds"


@pytest.fixture
def store_url(sqlite_url):
    return sqlite_url


def scanned(connection, statement, parameters):
    """Growing tables that a statement reads from end to end."""
    plan = connection.exec_driver_sql(f"explain query plan {statement}", parameters)
    steps = [row.detail for row in plan]
    return [step for step in steps if re.match(rf"SCAN ({GROWING})\b", step)]


def test_no_query_of_a_round_reads_a_growing_table_from_end_to_end(database):
    asked: Sent = {}
    sample = Sample(max_labels=40, bands=Bands(flagged=1, passed=1))
    scene = Scene(database, settings(sample=sample, overlap=0.2))
    idle = ChangeDetector(database, lambda: scene.now, {scene.name: "as it is"})
    sinks = {"log": Sink(), "mlflow": Sink()}
    with recorded(database.engine, asked):
        for number in (1, 2):
            scene.play(number, count=400)
            scene.labeler.second_answers = dict(scene.truth)
            scene.run()
            for look in idle.needed([scene.context]):
                idle.record_check(look, well=True)
            idle.keep()
            deliver(database, sinks, lambda: scene.now)
            retire_orphans(database, sinks, lambda: scene.now)
            forget_removed_monitors(database, [scene.name], lambda: scene.now)
        of_class = replace(scene.context, class_monitors={"a": scene.name})
        for _ in range(2):  # the first look of a process, and later ones
            assert MONDAY in lost_windows(of_class)
        publish_classes(of_class, [MONDAY])

    assert scene.round(2).state == "closed"
    assert scene.now == MONDAY + WEEK
    with database.read() as connection:
        found = {sql: scanned(connection, sql, values) for sql, values in asked.items()}
    assert {sql: steps for sql, steps in found.items() if steps} == {}


def test_a_page_about_all_monitors_reads_no_rows_of_a_growing_table_but_those_it_shows(database):
    scene = Scene(database, settings(sample=Sample(max_labels=40)))
    scene.play(1, count=400)
    scene.week(2, count=400)
    scene.run(2)
    asked: Sent = {}

    with recorded(database.engine, asked):
        found = overviews(database, [scene.context.settings] * 2, scene.now)
        overviews(database, [scene.context.settings], scene.now)
        with database.read() as connection:
            all_open_rounds(connection)
        page = exposition(database, [scene.name], Own(), scene.now)

    assert (found[0].last_round, len(found[0].open_rounds)) == (1, 1)
    assert "pr_monitor_rounds" in page
    with database.read() as connection:
        steps = {sql: scanned(connection, sql, values) for sql, values in asked.items()}
    in_rows = {
        sql: [step for step in each if "COVERING" not in step] for sql, each in steps.items()
    }
    assert {sql: each for sql, each in in_rows.items() if each} == {}


VIEWS = ("round_results", "monitor_status", "waiting_rounds", "latest_evidence", "latest_estimates")


def test_a_dashboard_reads_no_growing_table_from_end_to_end(database):
    play(database)

    for view in VIEWS:
        of_monitor = "where monitor = 'mail'" if view in {"round_results", *VIEWS[3:]} else ""
        with database.read() as connection:
            query = f"explain query plan select * from {view} {of_monitor}"
            plan = connection.exec_driver_sql(query).all()

        scanned = [row.detail.split()[1] for row in plan if row.detail.startswith("SCAN")]
        assert any(row.detail.startswith("SEARCH") for row in plan)
        assert [table for table in scanned if table != "m"] == [], view  # the monitors
