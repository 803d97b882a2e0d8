"""Curves, causes and the next round reach the report of a round."""

import re
from datetime import timedelta
from typing import Any

import pytest

from monitor.domain.sample_settings import Bands, Margin, Sample
from monitor.domain.settings import POOLED_COVERAGE, Limits
from monitor.presentation.outcome import verdict_sentence
from monitor.presentation.parts.curves import CURVES
from monitor.presentation.round_document import round_sections
from monitor.rounds.estimation.curves import NoCurves, labeled_sample, scored_sample
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, MONDAY, WEEK, Scene, settings

BANDS = Sample(max_labels=300, bands=Bands(flagged=2, passed=3))


@played
def scene(database):
    """Precision falls in the second one."""
    scene = Scene(database, settings(sample=BANDS, limits=LIMITS))
    scene.play(1)
    scene.play(2, precision=0.2)
    return scene


def test_a_closed_round_reports_its_curves_and_the_prevalence_they_hold_for(scene):
    report = scene.round_report(1)

    curves: Any = CURVES.of(report)
    assert curves.labeled == sum(row.labeled for row in report.strata) == 300
    assert curves.positive == sum(row.positive for row in report.strata)
    assert all(len(getattr(curves.roc, name)) == 41 for name in ("x", "point", "low", "high"))
    own = report.shown("prevalence", "round", "rate")
    assert curves.prevalence[0] == pytest.approx(own.point, abs=0.005)
    assert report.cause is None
    assert len(report.model_dump_json(exclude={"estimates"})) < 10_000  # a metric more is fine
    assert report.pooled_coverage == POOLED_COVERAGE


def test_the_sample_of_a_round_has_its_items_bounds_and_sizes(scene):
    found = scene.round(1)

    labels = scene.labels(1)
    sample, drawn = scored_sample(found, labels), labels.labeled

    assert sample.items.size.sum() == 2000
    assert sample.items.flagged == 2
    assert sample.low[:2].min() == sample.high[2:].max() == 0.5
    assert (sample.score >= 0.5).tolist() == sample.items.is_flagged.tolist()
    answers = [scene.truth[item.id] == "1" for item in drawn]
    assert sample.items.positive.tolist() == answers
    assert sum(answers) > 10


def test_the_next_round_is_as_the_settings_ask(scene):
    sample = BANDS.model_copy(update={"margin": Margin(precision=0.05)})
    scene.settings = settings(sample=sample, limits=LIMITS)
    scene.play(3, share=0.0)

    report = scene.round_report(3)

    assert report.next_round.slot == MONDAY + 3 * WEEK
    assert report.next_round.max_labels == 300
    assert report.next_round.margins == {"precision": 0.05}
    assert report.next_round.hours == timedelta(days=5) / timedelta(hours=1)


def test_the_alert_on_precision_says_the_cause(scene):
    scene.play(3, precision=0.2)

    told = scene.alert_notices()
    [sentence] = [each["sentence"] for each in told if each["metric"] == "precision"]
    assert " with earlier rounds. Precision fell from 0." in sentence
    assert re.search(r"a worse classifier \(TPR, FPR\) -0.* to [-+]0\.\d\d\)\. Fired ", sentence)
    assert all("(TPR, FPR)" not in each["sentence"] for each in told if each["metric"] == "recall")


def test_a_fall_of_recall_is_told_in_the_report_beside_precision_and_in_its_headline(database):
    scene = Scene(
        database, settings(sample=BANDS, limits=Limits.model_validate({"precision": 0.5}))
    )
    for number in (1, 2, 3):
        scene.play(number, recall=0.9)
    scene.play(4, recall=0.2)

    report = scene.round_report(4)
    [causes] = [each for each in round_sections(report) if each.kind == "causes"]
    precision, recall = causes.lines

    assert precision.startswith("precision 0.")
    assert recall.startswith("recall fell from 0.")
    verdict = verdict_sentence(report)
    assert re.search(r"recall fell from 0\.\d\d to 0\.\d\d in this round alone", verdict)
    assert "All well" not in verdict


def test_a_round_that_only_carries_a_late_label_keeps_the_curves_it_has(scene):
    item = scene.rows("select id from items where round_id = 1 limit 1")[0]["id"]
    scene.turn(item)
    scene.run()

    first, second = scene.round_report(1), scene.round_report(2)

    assert [each["round"] for each in scene.reports()[-2:]] == [1, 2]
    assert first.version == second.version == 2
    assert first.curves is not None
    assert second.curves is None
    assert second.cause is not None


def test_items_without_scores_and_blank_strata_make_no_curves(scene):
    scene.draw(3)
    found = scene.round(3)

    with pytest.raises(NoCurves) as blank:
        labeled_sample(scene.labels(3), found.settings.sample)
    assert str(blank.value) == (
        "no item of flagged-1, flagged-2, passed-1, passed-2, passed-3 is labeled yet"
    )

    with scene.database.write() as connection:
        connection.exec_driver_sql("update items set score = null where predicted")
    with pytest.raises(NoCurves, match="items of this round have no score"):
        scored_sample(scene.round(1), scene.labels(1))
