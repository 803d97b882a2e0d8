"""The point of a round with earlier ones: one matrix for all metrics, and no lag after a change."""

import pytest

from monitor.domain.settings import Pooling
from monitor.rounds.estimation.history import history_states, pooled_matrix
from monitor.stats.history.pooled_rates import pooled_rates
from monitor.storage.results import report_store
from tests.rounds.estimation.tallies import estimated, tally_of
from tests.rounds.scene import Scene, settings


def three(flagged=(600, 300, 240), low=(9000, 300, 3), high=(1000, 100, 20)):
    return tally_of(flagged=flagged, low=low, high=high)


QUIET = [three()] * 8


def pooled(now, earlier=QUIET, reference=None, **pooling):
    asked = settings().model_copy(update={"pooling": Pooling(**pooling)})
    found = estimated([*earlier, now], asked, reference)
    return {row.metric: row for row in found.rows if row.basis == "pooled"}


def test_all_points_are_read_off_one_matrix():
    found = pooled(three(flagged=(600, 300, 236), high=(1000, 100, 23)))

    value = {name: row.point for name, row in found.items()}
    p, r, eta = value["precision"], value["recall"], value["prevalence"]
    assert value["f1"] == pytest.approx(2 * p * r / (p + r), rel=1e-9)
    assert p * 600 == pytest.approx(r * eta * 10_600, rel=1e-9)
    assert value["accuracy"] == pytest.approx(
        1 - (eta * (1 - r) + (1 - p) * 600 / 10_600), rel=1e-9
    )


def test_the_matrix_is_that_of_the_rates_drawn_toward_what_was_known_before():
    now = three(flagged=(600, 300, 236), high=(1000, 100, 23))
    known = history_states([*QUIET, now], None, Pooling())[-1]
    assert known.before is not None
    before = known.before.flagged

    matrix = pooled_matrix(known)

    (rate,) = pooled_rates((before.weight, before.alpha, before.beta), [236], [300], [600])
    assert 236 / 300 < rate < 0.8
    assert float(matrix.tp) == pytest.approx(600 * rate, rel=1e-12)
    assert float(matrix.fn + matrix.tn) == pytest.approx(10_000, rel=1e-12)


def test_a_first_round_without_a_reference_has_the_plain_weighted_ratio():
    found = pooled(three(), earlier=[])

    tp, fn = 600 * 240 / 300, 9000 * 3 / 300 + 1000 * 20 / 100
    assert found["precision"].point == pytest.approx(0.8, rel=1e-12)
    assert found["recall"].point == pytest.approx(tp / (tp + fn), rel=1e-12)


def test_a_class_whose_first_labels_these_are_is_not_drawn_toward_the_prior():
    found = pooled(three(), earlier=[three(flagged=(600, 0, 0))])

    assert found["precision"].point == pytest.approx(0.8, rel=1e-12)


def test_a_reference_is_a_history_too():
    reference = {"flagged": (800, 1000)}

    found = pooled(three(flagged=(600, 300, 234)), earlier=[], reference=reference)

    assert 0.785 < found["precision"].point < 0.795  # .78 alone, .8 before


def test_a_report_has_no_measured_coverage_of_another_pooling(database):
    pooling = Pooling(hazard=0.1)
    scene = Scene(database, settings().model_copy(update={"pooling": pooling}))

    found = scene.play(1)

    with database.read() as connection:
        report = report_store.read_report(connection, found.id, found.estimated_version)
    assert report["pooled_coverage"] is None
