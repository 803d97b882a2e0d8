"""Reports stand in the store once; what MLflow is told does not change by it."""

import json
from dataclasses import asdict

import pytest
from alembic import command
from sqlalchemy import text

from monitor.domain.model import EffectKind
from monitor.domain.report import RoundReport
from monitor.rounds.delivery.deliver import deliver
from monitor.rounds.estimation.tally import Tally
from monitor.stats.estimation.small_counts import small_count_caution
from monitor.storage import estimate_store, report_store, schema
from monitor.storage.database import Database
from monitor.tracking.values import digest
from tests.rounds.scene import LIMITS, Scene, settings
from tests.storage.old_stores import make_old_store, written_rows

REPORTING = ("round_run", "fleet_point", "model_tags")
BEFORE = "0005"


class Taking:
    """A sink that takes everything and keeps it."""

    def __init__(self):
        self.got = []

    def deliver(self, effect):
        self.got.append(effect)
        return "taken"


@pytest.fixture
def old(store_url):
    database = Database(store_url)
    make_old_store(database, BEFORE)
    yield database
    database.close()


def rows(database, query, **values):
    with database.read() as connection:
        return [dict(row) for row in connection.execute(text(query), values).mappings()]


def payloads(database):
    """The text of each effect's own payload, by key."""
    found = rows(database, "select key, cast(payload as text) as payload from effects")
    return {row["key"]: row["payload"] for row in found}


def move(database, direction, revision):
    with database.write() as connection:
        direction(schema.alembic_config(connection), revision)


def test_a_report_that_several_effects_publish_is_stored_once(database):
    scene = Scene(database, settings(limits=LIMITS, model="models:/mail/7"))

    found = scene.play(1)

    told = rows(database, "select kind, report_version, payload from effects where sink = 'mlflow'")
    assert [row["kind"] for row in told] == [*REPORTING]
    assert {(row["report_version"], row["payload"]) for row in told} == {(1, None)}
    assert rows(database, "select round_id, version from reports") == [
        {"round_id": found.id, "version": 1}
    ]


def test_whoever_delivers_an_effect_gets_the_report_that_it_refers_to(database):
    scene = Scene(database, settings())
    found = scene.play(1)
    mlflow = Taking()

    deliver(database, {"mlflow": mlflow}, lambda: scene.now)

    with database.read() as connection:
        report = report_store.read_report(connection, found.id, 1)
    assert [effect.kind for effect in mlflow.got] == [EffectKind.ROUND_RUN, EffectKind.FLEET_POINT]
    assert [effect.payload for effect in mlflow.got] == [report, report]
    assert report["sentence"]


def test_a_version_that_says_nothing_has_an_empty_report(database):
    scene = Scene(database, settings())
    found = scene.play(1)

    with database.read() as connection:
        report = report_store.read_report(connection, found.id, 2)

    assert report == {}


def test_an_upgrade_takes_each_report_out_of_the_effects_that_hold_it(old):
    schema.upgrade(old)

    written = written_rows(BEFORE)["effects"]
    reporting = {row["key"] for row in written if row["kind"] in REPORTING}
    emptied = {key for key, payload in payloads(old).items() if payload is None}
    assert emptied == reporting
    [counted] = rows(old, "select count(*) as n from reports")
    assert counted["n"] == len({row["key"] for row in written if row["kind"] == "round_run"})


def test_after_an_upgrade_what_waits_is_delivered_with_the_digests_of_before(old):
    written = {row["key"]: row for row in written_rows(BEFORE)["effects"]}
    waiting = [row for row in written.values() if row["status"] == "waiting"]
    schema.upgrade(old)
    sinks = {row["sink"]: Taking() for row in waiting}

    deliver(old, sinks, lambda: Scene(old, settings()).now.replace(year=2026))

    got = {effect.key: digest(effect.payload) for sink in sinks.values() for effect in sink.got}
    assert got == {row["key"]: digest(row["payload"]) for row in waiting}
    assert {"mlflow", "ops"} <= set(sinks)


def test_an_effect_whose_report_differs_from_that_of_its_round_keeps_it(old):
    other = {"version": 1, "sentence": "by another program"}
    key = next(key for key in payloads(old) if key.endswith("/v1/fleet_point"))
    with old.write() as connection:
        told = {"payload": json.dumps(other), "key": key}
        as_json = ":payload" if old.is_sqlite else "cast(:payload as json)"
        connection.execute(text(f"update effects set payload = {as_json} where key = :key"), told)

    schema.upgrade(old)

    assert json.loads(payloads(old)[key]) == other


def test_a_downgrade_gives_every_effect_the_same_text_as_before(old):
    before = payloads(old)
    schema.upgrade(old)

    move(old, command.downgrade, BEFORE)

    assert payloads(old) == before
    assert None not in before.values()


def test_a_store_goes_up_again_after_it_went_down(old):
    schema.upgrade(old)
    first = rows(old, "select round_id, version, cast(payload as text) as p from reports")

    move(old, command.downgrade, BEFORE)
    schema.upgrade(old)

    again = rows(old, "select round_id, version, cast(payload as text) as p from reports")
    assert again == first
    assert first


def test_a_caution_is_computed_with_its_estimate_and_stands_in_the_report(database):
    scene = Scene(database, settings())

    found = scene.play(1)

    with database.read() as connection:
        report = RoundReport(**report_store.read_report(connection, found.id, 1))
        counts = Tally(estimate_store.read_counts(connection, [found.id])[found.id]).counts
    own = [
        row
        for row in report.estimates
        if (row.basis, row.estimand) == ("round", "window") and row.point is not None
    ]
    kept = {row.metric: [one.model_dump() for one in row.caution] for row in own}
    few = {row.metric: small_count_caution(counts, row.metric, estimand="window") for row in own}
    assert any(kept.values())
    assert kept == {
        metric: [] if few_labels is None else [asdict(one) for one in few_labels.classes]
        for metric, few_labels in few.items()
    }


def test_a_report_of_before_that_has_no_cautions_is_read_as_one_without(database):
    scene = Scene(database, settings())
    found = scene.play(1)
    with database.read() as connection:
        said = report_store.read_report(connection, found.id, 1)
    for row in said["estimates"]:
        del row["caution"]

    report = RoundReport(**said)

    assert not any(row.caution for row in report.estimates)
