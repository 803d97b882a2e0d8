"""Curves and causes reach the report of a round."""

from __future__ import annotations

import json
import re

import pytest

from monitor.domain.model import Answer
from monitor.domain.report import RoundReport
from monitor.domain.sample_settings import Bands, Sample
from monitor.rounds.estimation.curves import NoCurves, labeled_sample, scored_sample
from monitor.storage.labels.round_labels import read_labels
from tests.rounds.scene import LIMITS, Scene, settings
from tests.storage.payloads import REPORTS

BANDS = Sample(max_labels=300, bands=Bands(flagged=2, passed=3))


@pytest.fixture
def scene(database):
    return Scene(database, settings(sample=BANDS, limits=LIMITS))


def reports(scene):
    rows = scene.rows(REPORTS)
    return [
        RoundReport.model_validate(
            json.loads(row["payload"]) if isinstance(row["payload"], str) else row["payload"]
        )
        for row in rows
    ]


def test_a_closed_round_reports_its_curves_and_the_prevalence_they_hold_for(scene):
    scene.play(1)

    [report] = reports(scene)

    curves, p3 = report.curves, report.p3
    assert curves.labeled == sum(row.labeled for row in report.strata) == 300
    assert curves.positive == sum(row.positive for row in report.strata)
    assert all(len(getattr(curves.roc, name)) == 41 for name in ("x", "point", "low", "high"))
    own = report.estimate("prevalence", basis="round", estimand="rate")
    assert curves.prevalence[0] == pytest.approx(own.point, abs=0.005)
    assert p3.value[0] == pytest.approx(
        report.estimate("precision", basis="pooled", estimand="rate").point, abs=0.005
    )
    assert report.cause is None
    assert len(report.model_dump_json(exclude={"estimates"})) < 10_000  # a metric more is fine


def test_the_sample_of_a_round_has_its_items_bounds_and_sizes(scene):
    found = scene.play(1)

    with scene.database.read() as connection:
        labels = read_labels(connection, found)
    sample, drawn = scored_sample(found, labels), labels.labeled

    assert sample.items.size.sum() == 2000
    assert sample.items.flagged == 2
    assert sample.low[:2].min() == sample.high[2:].max() == 0.5
    assert (sample.score >= 0.5).tolist() == sample.items.is_flagged.tolist()
    answers = [scene.truth[item.id] == "1" for item in drawn]
    assert sample.items.positive.tolist() == answers
    assert sum(answers) > 10


def test_the_second_round_says_why_precision_differs(scene):
    scene.play(1)
    scene.play(2, precision=0.2)

    cause = reports(scene)[1].cause

    assert cause.rounds == 1
    assert cause.sentence.startswith("precision fell from 0.")
    assert cause.by_prevalence[0] + cause.by_classifier[0] == pytest.approx(
        cause.change[0], abs=1e-5
    )


def test_the_alert_on_precision_says_the_cause(scene):
    for number in (1, 2):
        scene.play(number)
    for number in (3, 4, 5):
        scene.play(number, precision=0.3)

    rows = scene.rows("select payload from effects where kind = 'notice' order by id")
    told = [
        json.loads(row["payload"]) if isinstance(row["payload"], str) else row["payload"]
        for row in rows
    ]
    [sentence] = [
        each["sentence"]
        for each in told
        if each["event"] == "alert.firing" and each["metric"] == "precision"
    ]
    assert " with earlier rounds. Precision fell from 0." in sentence
    assert re.search(r"a worse classifier \(TPR, FPR\) -0.* to [-+]0\.\d\d\)\. Fired ", sentence)
    assert all("(TPR, FPR)" not in each["sentence"] for each in told if each["metric"] == "recall")


def test_a_round_that_only_carries_a_late_label_keeps_the_curves_it_has(scene):
    scene.play(1)
    scene.play(2)
    item = scene.rows("select id from items where round_id = 1 limit 1")[0]["id"]
    was = scene.labeler.answers[item]
    scene.labeler.answers[item] = Answer.NEGATIVE if was is Answer.POSITIVE else Answer.POSITIVE
    scene.run()

    first, second = reports(scene)[-2:]

    assert (first.round, second.round) == (1, 2)
    assert first.version == second.version == 2
    assert first.curves is not None
    assert second.curves is None
    assert second.p3 is not None
    assert second.cause is not None


def test_items_without_scores_and_blank_strata_make_no_curves(scene):
    scene.week(1)
    scene.run(1)
    found = scene.round(1)

    with scene.database.read() as connection, pytest.raises(NoCurves) as blank:
        labeled_sample(read_labels(connection, found), found.settings.sample)
    assert str(blank.value) == (
        "no item of flagged-1, flagged-2, passed-1, passed-2, passed-3 is labeled yet"
    )

    scene.answer()
    scene.run()
    with scene.database.write() as connection:
        connection.exec_driver_sql("update items set score = null where predicted")
        with pytest.raises(NoCurves, match="items of this round have no score"):
            scored_sample(found, read_labels(connection, found))
