"""Reports stand in the store once; what MLflow is told does not change by it."""

from dataclasses import asdict

from monitor.domain.report import RoundReport
from monitor.rounds.delivery import deliver
from monitor.rounds.estimation.tally import Tally
from monitor.stats.estimation.small_counts import small_count_caution
from monitor.storage.results import estimate_store, report_store
from tests.rounds.scene import LIMITS, Scene, settings
from tests.rounds.sinks import Sink
from tests.statements import counted
from tests.storage.rows import rows

REPORTING = ("round_run", "fleet_point", "model_tags")


def test_a_report_is_stored_once_and_who_delivers_an_effect_gets_the_one_that_it_refers_to(
    database,
):
    scene = Scene(database, settings(limits=LIMITS, model="models:/mail/7"))
    found = scene.play(1)
    mlflow = Sink()

    deliver(database, {"mlflow": mlflow}, lambda: scene.now)

    told = rows(database, "select kind, report_version, payload from effects where sink = 'mlflow'")
    assert [row["kind"] for row in told] == [*REPORTING]
    assert {(row["report_version"], row["payload"]) for row in told} == {(1, None)}
    assert rows(database, "select round_id, version from reports") == [
        {"round_id": found.id, "version": 1}
    ]
    with database.read() as connection:
        payload = report_store.read_report(connection, found.id, 1)
        nothing = report_store.read_report(connection, found.id, 2)
        counts = Tally(estimate_store.read_counts(connection, [found.id])[found.id]).counts
    assert [effect.kind for effect in mlflow.effects] == [*REPORTING]
    assert mlflow.payloads == [payload] * 3
    assert payload["sentence"]
    assert nothing == {}

    # A caution is computed with its estimate and stands in the report.
    own = [
        row
        for row in RoundReport(**payload).estimates
        if (row.basis, row.estimand) == ("round", "window") and row.point is not None
    ]
    kept = {row.metric: [one.model_dump() for one in row.caution] for row in own}
    few = {row.metric: small_count_caution(counts, row.metric, estimand="window") for row in own}
    assert any(kept.values())
    assert kept == {
        metric: [] if few_labels is None else [asdict(one) for one in few_labels.classes]
        for metric, few_labels in few.items()
    }


def test_a_field_is_read_of_more_reports_than_one_statement_may_bind(database):
    scene = Scene(database, settings(limits=LIMITS))
    closed = scene.play(1)

    with database.read() as connection, counted(database) as statements:
        read = report_store.read_parts(connection, range(closed.id, closed.id + 1200), "sentence")

    assert read == {closed.id: {"sentence": scene.report(1)["sentence"]}}
    assert len(statements.selects) == 3
