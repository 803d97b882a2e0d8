"""Reports stand in the store once; what MLflow is told does not change by it."""

from dataclasses import asdict

from sqlalchemy import text

from monitor.domain.model import EffectKind
from monitor.domain.report import RoundReport
from monitor.rounds.delivery.deliver import deliver
from monitor.rounds.estimation.tally import Tally
from monitor.stats.estimation.small_counts import small_count_caution
from monitor.storage.results import estimate_store, report_store
from tests.rounds.scene import LIMITS, Scene, settings

REPORTING = ("round_run", "fleet_point", "model_tags")


class Taking:
    """A sink that takes everything and keeps it."""

    def __init__(self):
        self.got = []

    def deliver(self, effect):
        self.got.append(effect)
        return "taken"


def rows(database, query, **values):
    with database.read() as connection:
        return [dict(row) for row in connection.execute(text(query), values).mappings()]


def payloads(database):
    """The text of each effect's own payload, by key."""
    found = rows(database, "select key, cast(payload as text) as payload from effects")
    return {row["key"]: row["payload"] for row in found}


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
