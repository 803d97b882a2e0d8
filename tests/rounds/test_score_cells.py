"""Rounds whose strata are score cells."""

import numpy as np
import pytest
from scipy import stats

from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Cells, Sample
from monitor.domain.settings import Limits
from monitor.rounds.forecast.plan_window import forecast_monitor
from monitor.rounds.forecast.simulate import expected_round
from monitor.rounds.sampling.plan import uniform_of
from monitor.rounds.sampling.window_scan import base_key
from tests.rounds.played import played
from tests.rounds.scene import MONDAY, WEEK, Scene, settings, week_of_rows

CELLS = Sample(max_labels=360, cells=Cells(), bands=Bands(flagged=2, passed=4))
SETTINGS = settings(sample=CELLS)
COUNTED = ("size", "planned", "labeled", "positive", "declined")


@played
def one_round(database):
    scene = Scene(database, settings(sample=CELLS, limits=Limits.model_validate({"recall": 0.4})))
    scene.play(1)
    return scene


def test_the_cells_of_the_first_round_are_frozen_with_the_history(one_round):
    one_round.play(2, precision=0.6)

    one, two = (one_round.strata(number) for number in (1, 2))
    first, second = ([part.stratum for part in strata] for strata in (one, two))
    assert first == second
    assert (sum(each.flagged for each in first), len(first)) == (20, 60)
    for strata in (one, two):
        assert sum(part.planned for part in strata) == 360
        assert all(part.planned >= min(2, part.size) for part in strata)


def test_a_report_and_a_plan_sum_the_cells_to_bands_and_a_simulation_goes_by_cells(one_round):
    one_round.week(2)
    one_round.now = MONDAY + WEEK

    report = one_round.report(1)
    planned = forecast_monitor(one_round.context, margins=None, max_labels=None)
    expected = expected_round(one_round.context)

    bands, cells = report["strata"], report["cells"]
    assert [row["stratum"] for row in bands] == BANDS
    assert len(cells) == 60
    assert [[row[name] for name in COUNTED] for row in bands] == [
        [sum(cell[name] for cell in cells[10 * i : 10 * i + 10]) for name in COUNTED]
        for i in range(6)
    ]
    found = planned.to_dict()
    assert [row["stratum"] for row in found["strata"]] == BANDS
    assert sum(row["labels"] for row in found["strata"]) == found["labels"] == 360
    assert sum(row["size"] for row in found["strata"]) == found["size"]
    assert found["basis"] == "one earlier round"
    assert (expected.plan.labels.size, expected.plan.total) == (60, 360)

    # Alerts are foretold by the bands that people see.
    [foretold] = planned.alerts
    scenario = expected.scenario
    assert scenario.is_flagged.tolist() == [True, True, False, False, False, False]
    assert scenario.labels == expected.plan.total == 360
    assert scenario.size.sum() == 2000
    assert set(foretold.smallest_drops) == {"in_proportion", "in_lowest_band"}
    assert foretold.expected == pytest.approx(scenario.value("recall"), abs=0.03)


def test_however_few_labels_a_round_has_every_cell_has_two_and_makes_an_estimate(scene):
    scene.settings = settings(sample=CELLS.model_copy(update={"max_labels": 20}))
    for number in (1, 2):
        scene.play(number)

    for number in (1, 2):
        strata = scene.strata(number)
        flagged = sum(part.stratum.flagged for part in strata)
        assert (flagged, len(strata) - flagged) == (1, 2)
        assert sum(part.planned for part in strata) == 20
        assert all(part.planned >= min(2, part.size) for part in strata)
        assert scene.round(number).estimated_version == 1


def test_a_budget_cut_under_two_labels_a_cell_is_told_and_cells_without_one_lose_no_items(
    one_round,
):
    one_round.settings = settings(sample=CELLS.model_copy(update={"max_labels": 45}))

    one_round.play(2)

    strata = one_round.strata(2)
    assert sum(part.planned for part in strata) == 45
    assert min(part.planned for part in strata) == 0
    [note] = one_round.rows(
        "select reason from round_issues where reason like '45 labels are fewer%'"
    )
    assert "every stratum's floor was lowered alike" in note["reason"]
    row = one_round.estimates(2)["prevalence", "round", "rate"]
    passed = [part for part in strata if not part.stratum.flagged]
    assert sum(part.size for part in passed) > 1800
    assert (row.low or 1) < 0.08 < (row.high or 0)


def test_labels_go_where_answers_differ_once_some_are_known(scene):
    scene.source.rows, scene.truth = steep_weeks(2)
    for number in (1, 2):
        label(scene, number)

    one, two = (scene.strata(number) for number in (1, 2))
    before, after = (
        share_of_cells([part.planned for part in parts if not part.stratum.flagged])
        for parts in (one, two)
    )
    # The lowest half of the passed scores holds no positive: only the share by size goes there.
    assert after[:20].sum() < 0.75 * before[:20].sum()
    assert after[-5:].sum() > 1.3 * before[-5:].sum()


def test_other_rounds_of_the_same_plan_round_it_by_another_chance():
    found = [uniform_of(SETTINGS, f"round {i}") or 0.0 for i in range(400)]

    assert uniform_of(SETTINGS, "round 0") == found[0]
    assert stats.kstest(found, "uniform").pvalue > 0.01
    assert uniform_of(settings(), "round 0") is None


def test_items_without_a_score_are_a_cell_and_a_band_of_their_own(scene):
    for number in (1, 2):
        scene.week(number)
        start = MONDAY + (number - 2) * WEEK
        for row in scene.source.rows[::10]:
            if row["time"] >= start:
                row |= {"predicted": row["score"] >= 0.5, "score": None}
    for row in scene.source.rows:
        row.setdefault("predicted", row["score"] is not None and row["score"] >= 0.5)
    scene.source.threshold = None
    scene.settings = settings(sample=CELLS, threshold=None)
    for number in (1, 2):
        label(scene, number)

    unscored = [part for part in scene.strata(2) if part.stratum.unscored]
    assert [part.stratum.name for part in unscored] == ["flagged-unscored", "passed-unscored"]
    assert all(part.planned >= 2 for part in unscored)
    shown = scene.report(2)["strata"]
    assert [row["size"] for row in shown if row["stratum"].endswith("unscored")] == [
        part.size for part in unscored
    ]


def test_histories_with_bands_keep_the_key_that_they_were_opened_with_and_cells_are_another():
    bands = settings(sample=Sample(bands=Bands(flagged=4, passed=10)))
    cells = settings(sample=Sample(cells=Cells(flagged=4, passed=10)))

    assert base_key(bands) == (None, 4, 10) != base_key(cells)


def label(scene, number, *, share=1.0):
    """Draw a round and answer what goes out."""
    scene.run(number)
    scene.answer(share)
    scene.run()


BANDS = ["flagged-1", "flagged-2", "passed-1", "passed-2", "passed-3", "passed-4"]


def rising(*values):
    assert None not in values
    assert list(values) == sorted(set(values))


def share_of_cells(labels):
    return np.array(labels) / sum(labels)


def steep_weeks(count):
    """Weeks whose positives among the passed all lie close under the threshold."""
    rows: list[dict[str, object]] = []
    truth: dict[str, Answer] = {}
    for number in range(1, count + 1):
        more, answers = week_of_rows(MONDAY + (number - 2) * WEEK, seed=number)
        for row in more:
            if row["score"] < 0.5:
                is_near = row["score"] > 0.4 and int(row["id"][-1]) % 2
                answers[row["id"]] = Answer.POSITIVE if is_near else Answer.NEGATIVE
        rows, truth = rows + more, truth | answers
    return rows, truth


def with_version(rows, version):
    return [row | {"model_version": version} for row in rows]


def test_the_first_round_of_a_new_version_is_planned_by_the_last_history(scene):
    scene.source.rows, scene.truth = steep_weeks(3)
    rows = with_version(scene.source.rows, "1")
    for row in rows[len(rows) * 2 // 3 :]:
        row["model_version"] = "2"
    scene.source.rows = rows
    for number in (1, 2, 3):
        label(scene, number)

    first, second, new = (
        share_of_cells([part.planned for part in scene.strata(n) if not part.stratum.flagged])
        for n in (1, 2, 3)
    )
    assert scene.round(3).history_id != scene.round(2).history_id
    # A quarter goes by size: what was pure in the last version need not be so in this one.
    assert second[:20].sum() < new[:20].sum() < 0.9 * first[:20].sum()
    assert scene.estimates(3)["recall", "pooled", "rate"].point == pytest.approx(
        scene.estimates(3)["recall", "round", "rate"].point, abs=0.05
    )
