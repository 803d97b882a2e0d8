"""How far an open alert is from its end: what `status`, reports and MLflow say of it."""

import math
from datetime import timedelta

import pytest

from monitor.cli.views.status_page import overview_json
from monitor.domain.report import AlertRow, RecoveryRow
from monitor.presentation.alerts import recovery_sentence
from monitor.rounds.estimation.evidence import PATHS
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.recovery import Recovery, ending
from monitor.stats.detection.scenario import Scenario
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, Scene, settings


@played
def scene(database):
    """Two good rounds, one that fires, and a fourth that is open for long."""
    asked = settings(limits=LIMITS, labels=300, deadline=timedelta(days=50))
    scene = Scene(database, asked)
    for number, precision in enumerate((0.85, 0.85, 0.2), start=1):
        scene.play(number, precision=precision)
    scene.draw(4, precision=0.76)
    return scene


def test_status_says_how_far_an_alert_is_and_how_long_it_may_take(scene):
    scene.answer_round(4)
    scene.run()
    scene.play(5, precision=0.8)

    found = scene.overview()
    [alert] = overview_json(found)["alerts"]
    [row] = [row for row in found.estimates if (row.metric, row.basis) == ("precision", "pooled")]
    [frozen] = scene.rows(
        "select recovery_rounds, log_r from evidence where metric = 'precision' and round_id = :id",
        id=scene.round(5).id,
    )
    said = alert["recovery"]
    assert (said["rounds"], frozen["recovery_rounds"]) == (2, 2)
    assert said["evidence"] == pytest.approx(math.exp(frozen["log_r"]))
    assert said["level"] == row.point
    assert said["within"] == expected_end(scene, 5, row.point, Recovery(2, frozen["log_r"]))
    assert f"precision is {row.point:.2f} with earlier rounds, " in said["sentence"]


def expected_end(scene, rounds, level, recovery):
    """By the counts in the store: two strata, so precision is the rate of the first."""
    if level < 0.7:
        return None
    counts = [scene.tally(number).counts for number in range(1, rounds + 1)]
    newest = counts[-1]
    misses = newest.positive[1] / newest.labeled[1]  # of no weight for precision
    back = Scenario.of(newest.size, newest.labeled, newest.is_flagged, [level, misses])
    seed = scene.round(rounds).sobol_seed
    limit = Limit("precision", 0.7, "at_least")
    rates = guess(counts)
    assert rates is not None
    found = ending(back, limit, rates, recovery=recovery, paths=PATHS, seed=seed)
    return found.rounds_for(0.8)


def test_the_report_of_a_late_round_moves_what_status_says_though_a_newer_round_is_shown(scene):
    """A round closes last in a history that no newer round is in, so no newer report is written."""
    scene.settings = scene.settings.model_copy(update={"threshold": 0.52})
    scene.source.threshold = 0.52
    scene.draw(5, precision=0.9)
    scene.answer_round(5)
    scene.run()
    before = [recovery.rounds for recovery in scene.overview().recoveries.values()]

    scene.answer_round(4)
    scene.run()

    after = scene.overview()
    assert (after.last_round, scene.round(4).history_id) != (4, scene.round(5).history_id)
    assert before == [1]
    assert [recovery.rounds for recovery in after.recoveries.values()] == [2]


def alert_row(**changes):
    known = {"id": "1ef00ab3", "metric": "precision", "side": "at_least", "limit": 0.76}
    return AlertRow(**{**known, "state": "firing", "fired_in_round": 4, **changes})


def recovery(**changes):
    known = {"rounds": 3, "evidence": 4.218, "ends_at": 20, "level": 0.81, "within": 5}
    return RecoveryRow(**{**known, "share": 0.8, "at_most": 52, **changes})


@pytest.mark.parametrize(
    ("changes", "evidence", "outlook"),
    [
        ({}, "is 4.21 after 3 later rounds", "takes at most 5 more rounds in 8 of 10 cases"),
        (
            {"rounds": 1, "evidence": 19.999, "within": 1},
            "is 19.99 after 1 later round",
            "takes at most 1 more round in 8 of 10 cases",
        ),
        ({"within": None}, "is 4.21 after 3 later rounds", "may well take more than 52 rounds"),
    ],
)
def test_a_metric_within_its_limit_has_an_outlook(changes, evidence, outlook):
    assert recovery_sentence(alert_row(), recovery(**changes)) == (
        "precision is 0.81 with earlier rounds, within its limit 0.76. Evidence of recovery "
        f"{evidence}, and 20 ends the alert; if precision stays there, that {outlook}."
    )


@pytest.mark.parametrize(
    ("changes", "evidence"),
    [
        ({"evidence": 0.0004}, "is under 0.01 after 3 later rounds"),
        ({"rounds": 0, "evidence": 0.0}, "comes from rounds after the one that fired"),
    ],
)
def test_a_metric_beyond_its_limit_has_none(changes, evidence):
    below = recovery(level=0.7, within=None, **changes)

    assert recovery_sentence(alert_row(), below) == (
        "precision is 0.70 with earlier rounds, under its limit 0.76. Evidence of recovery "
        f"{evidence}, and 20 ends the alert; no end is expected while precision stays there."
    )


def test_a_metric_that_is_not_estimable_has_its_evidence_alone():
    assert recovery_sentence(alert_row(), recovery(level=None, within=None)) == (
        "precision is not estimable with earlier rounds. Evidence of recovery is 4.21 after 3 "
        "later rounds, and 20 ends the alert."
    )


def test_an_upper_limit_is_kept_from_below():
    over = alert_row(metric="prevalence", side="at_most", limit=0.1)

    assert "is 0.12 with earlier rounds, over its limit 0.1" in recovery_sentence(
        over, recovery(level=0.12, within=None)
    )
    assert "is 0.08 with earlier rounds, within its limit 0.1" in recovery_sentence(
        over, recovery(level=0.08)
    )
