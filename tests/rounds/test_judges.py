"""A judge's verdicts cut the strata of each round; only people's labels count."""

import contextlib
import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest

from monitor.domain.judge import Judge, JudgeRow
from monitor.domain.model import Answer, BandEdges, Candidate, Frame, StratumFrame, Verdict, Window
from monitor.domain.report import AlertRow, RecoveryRow
from monitor.domain.sample_settings import Cells, Sample
from monitor.domain.settings import Limits
from monitor.domain.state import RoundState
from monitor.presentation.alerts import recovery_sentence
from monitor.rounds.estimation.judge import smoothed_rates
from monitor.rounds.opening.setting_changes import pending_changes
from monitor.rounds.sampling.prior_rates import prior_rates_of, rates_of_cells
from monitor.stats.core.counts import Counts
from monitor.testing import MemorySource
from tests.rounds.played import played
from tests.rounds.scene import THRESHOLD, Scene, settings

JUDGE = Judge(column="verdict", positive="yes")
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
CELLS = Sample(max_labels=300, cells=Cells(flagged=4, passed=8))


def good(is_positive, rng):
    """Say yes to nine of ten positives and to two in a hundred others."""
    return bool(rng.random() < (0.9 if is_positive else 0.02))


def judged(database, *, judge=JUDGE, sample=CELLS, **changes):
    source = MemorySource([], threshold=THRESHOLD, show=["text"], judge="verdict")
    return Scene(database, settings(judge=judge, sample=sample, **changes), source)


def play(scene, number, verdict=good, **changes):
    scene.week(number, **changes)
    rng = np.random.default_rng((number, 7))  # not the stream that made the rows
    for row in scene.source.rows:
        if "verdict" not in row:
            row["verdict"] = verdict(scene.truth[row["id"]] is Answer.POSITIVE, rng)
    scene.run(number)
    scene.finish(number)
    assert scene.round(number).state is RoundState.CLOSED
    return judge_of(scene, number)


def judge_of(scene, number):
    return JudgeRow.model_validate(scene.report(number)["judge"])


@played
def one(database):
    """A round with a good judge."""
    scene = judged(database)
    play(scene, 1)
    return scene


@played
def two(database):
    """Two larger rounds with a good judge."""
    scene = judged(database)
    for number in (1, 2):
        play(scene, number, count=3000)
    return scene


def turned_round(is_positive, rng):
    return not good(is_positive, rng)


def own_estimate(scene, number, metric):
    return scene.estimates(number)[metric, "round", "window"]


def width(row):
    return row.high - row.low


def true_values(scene, number):
    window = scene.round(number).window
    rows = [row for row in scene.source.rows if window.start <= row["time"] < window.end]
    positive = [row for row in rows if scene.truth[row["id"]] is Answer.POSITIVE]
    found = sum(row["score"] >= THRESHOLD for row in positive)
    flagged = sum(row["score"] >= THRESHOLD for row in rows)
    yes = sum(bool(row["verdict"]) for row in positive)
    no_positive = len(rows) - len(positive)
    said = sum(bool(row["verdict"]) for row in rows)
    return {
        "precision": found / flagged,
        "recall": found / len(positive),
        "tpr": yes / len(positive),
        "fpr": (said - yes) / no_positive,
    }


def test_a_round_knows_its_classifier_and_its_judge_by_the_labels_of_people(two):
    first, second = judge_of(two, 1), judge_of(two, 2)

    true = true_values(two, 2)
    for metric in ("precision", "recall"):
        found = own_estimate(two, 2, metric)
        assert found.low <= true[metric] <= found.high
    assert first.pooled is None
    assert first.alone
    assert second.alone
    assert second.pooled
    assert (second.alone.rounds, second.pooled.rounds) == (1, 2)
    assert second.pooled.labeled == first.alone.labeled + second.alone.labeled
    for name in ("tpr", "fpr"):
        point, low, high = getattr(second.pooled, name)
        assert low <= true[name] <= high
        assert high - low < 0.35
        assert low <= point <= high
    strata = two.report(2)["strata"]
    assert {tuple(row["stratum"].split("-")[:2]) for row in strata} == {
        (predicted, verdict) for predicted in ("flagged", "passed") for verdict in ("no", "yes")
    }
    assert two.rows("select distinct verdict from strata order by 1") == [
        {"verdict": verdict} for verdict in ("missing", "no", "yes")
    ]


def test_a_good_judge_narrows_recall_from_its_second_round_on_and_a_useless_one_costs_nothing(two):
    widths, saved = {}, {}
    useless = judged(two.database)
    useless.name = "useless"
    for number in (1, 2):
        play(useless, number, lambda _, rng: bool(rng.random() < 0.3), count=3000)
    for scene in (two, useless):
        saved[scene.name] = judge_of(scene, 2).saved or 0.0
        widths[scene.name] = width(own_estimate(scene, 2, "recall"))
    plain = Scene(two.database, settings(sample=CELLS), name="plain")
    plain.play(1, count=3000)
    plain.play(2, count=3000)
    alone = width(own_estimate(plain, 2, "recall"))

    assert widths["mail"] < 0.7 * alone
    assert widths["useless"] < 1.3 * alone
    assert 0.4 < saved["mail"] < 0.95
    assert -0.1 < saved["useless"] < 0.2


@pytest.mark.parametrize("sign", [1, -1], ids=["a log that keeps 1 %", "an amount"])
def test_verdicts_of_a_first_round_are_worth_no_more_than_their_rows(sign):
    def expected(size_of, rows_of):
        parts = []
        for stratum in BandEdges((0.75,), (0.2,), judged=True).strata():
            score = (stratum.low or 0.5 * stratum.flagged) + 0.1
            yes = round(1000 * (0.02 + 0.9 * score))
            counts: dict[Verdict | None, int] = {Verdict.YES: yes, Verdict.NO: 1000 - yes}
            count = counts.get(stratum.verdict, 0)
            rows = None if rows_of is None else rows_of(count)
            candidates = (Candidate("i", score),)
            parts.append(StratumFrame(stratum, size_of(count), candidates, rows=rows))
        week = Window(MONDAY - timedelta(weeks=1), MONDAY)
        frame = Frame(week, tuple(parts), rows=4000)
        return prior_rates_of(frame, None, settings(judge=JUDGE, sample=CELLS)).rate

    counted = expected(lambda count: count, None)
    sampled = expected(lambda count: 100 * count, lambda count: sign * count)

    assert sampled == pytest.approx(counted)
    assert expected(lambda count: 100 * count, None) != pytest.approx(counted, rel=0.01)


@pytest.mark.parametrize(
    "verdict",
    [turned_round, lambda *_: None],
    ids=["turned round", "silent"],
)
def test_values_with_earlier_rounds_outlast_a_judge_that_changes_without_notice(two, verdict):
    row = play(two, 3, verdict, count=3000)

    true, report = true_values(two, 3), two.report(3)
    rows = two.estimates(3)
    for metric in ("precision", "recall"):
        pooled, own = rows[metric, "pooled", "rate"], rows[metric, "round", "window"]
        assert pooled.low <= true[metric] <= pooled.high
        assert width(pooled) < 0.97 * width(rows[metric, "round", "rate"])
        assert own.low <= true[metric] <= own.high
    if verdict is turned_round:
        assert row.alone.tpr[0] < row.pooled.tpr[0] < 0.9
        assert row.alone.fpr[1] > 0.9
    assert report["pooled_coverage"] is None


def test_items_without_a_verdict_are_strata_of_their_own_and_people_are_told(one):
    silent = play(one, 2, lambda *_: None)
    back = play(one, 3, lambda truth, rng: None if rng.random() < 0.1 else good(truth, rng))

    assert (silent.missing, silent.alone, silent.pooled.rounds) == (silent.size, None, 2)
    assert "no verdict on 2,000 of 2,000 items (100 %)" in one.concerns(2)["judge"]
    assert one.report(2)["status"] == "attention"
    assert {row["stratum"] for row in one.report(2)["strata"] if row["size"]} == {
        row["stratum"] for row in one.report(2)["strata"] if "missing" in row["stratum"]
    }
    assert own_estimate(one, 2, "recall").low > 0
    assert 0.05 * back.size < back.missing < 0.15 * back.size
    assert "of 2,000 items" in one.concerns(3)["judge"]


@pytest.mark.parametrize(
    ("verdict", "note"),
    [
        (lambda *_: False, "says no to all 2,000 items"),
        (
            lambda _, rng: bool(rng.random() < 0.9),
            r"says yes to 1,\d+ of the 2,000 items that it has a verdict on, where .* are flagged; "
            r"is its rule right \(verdict = yes\)\?",
        ),
    ],
    ids=["no to all", "yes to most where few are flagged"],
)
def test_an_implausible_judge_is_noted_and_no_concern(database, verdict, note):
    scene = judged(database)
    play(scene, 1, verdict)

    notes = [row["reason"] for row in scene.rows("select reason from round_issues")]
    assert any(re.search(note, each) for each in notes)
    assert scene.concerns(1) == {}


def test_another_judge_begins_a_new_history_and_is_announced(one):
    one.settings = settings(sample=CELLS, judge=JUDGE.model_copy(update={"version": "prompt 2"}))
    [change] = one.read(pending_changes, one.context)
    play(one, 2)
    one.settings = settings(sample=CELLS, judge=JUDGE)
    row = play(one, 3)

    assert change.startswith(
        "judge verdict = yes -> verdict = yes (prompt 2): the next round begins"
    )
    assert "start again" in change
    histories = [one.round(number).history_id for number in (1, 2, 3)]
    assert histories[0] == histories[2] != histories[1]
    assert row.pooled.rounds == 2


@pytest.mark.parametrize("prior", [False, True], ids=["rates", "prior of a plan"])
def test_an_unknown_verdict_is_steered_by_neither_yes_nor_no(prior):
    strata = BandEdges(flagged=(), passed=(0.2,), judged=True).strata()
    positive = {"no": 1, "yes": 90, "missing": 0}
    counts = Counts.of_arrays(
        size=[1000] * len(strata),
        labeled=[100 if one.verdict != "missing" else 0 for one in strata],
        positive=[positive[str(one.verdict)] for one in strata],
        is_flagged=[one.flagged for one in strata],
    )

    if prior:
        tally = SimpleNamespace(counts=counts, missing=np.zeros(len(strata)))
        known = rates_of_cells(strata, counts.size.tolist(), [tally], None)
        assert known is not None
        rates = known.rate
    else:
        rates = smoothed_rates(strata, [counts])

    for name in ("flagged-{}", "passed-{}-1", "passed-{}-2"):
        no, missing, yes = (
            next(rate for one, rate in zip(strata, rates, strict=True) if one.name == wanted)
            for wanted in map(name.format, ("no", "missing", "yes"))
        )
        assert no < missing < yes


def test_a_judge_that_comes_starts_without_labels_that_no_verdict_cuts(database):
    scene = judged(database)
    scene.settings = settings(sample=CELLS)
    scene.draw(1)
    scene.finish(1)
    scene.settings = settings(sample=CELLS, judge=JUDGE)
    play(scene, 2)

    after = scene.rows("select reference from histories order by id")[-1]
    assert after["reference"] is None


def test_a_judge_that_leaves_lets_the_labels_so_far_count_by_the_new_strata(one):
    one.settings = settings(sample=CELLS)
    [change] = one.read(pending_changes, one.context)
    one.play(2)

    assert "starts from the labels so far" in change
    assert one.report(2)["judge"] is None
    [[before, after]] = [one.rows("select reference from histories order by id")]
    assert before["reference"] is None
    assert sum(labeled for _, labeled in after["reference"].values()) > 0


def test_a_round_that_kept_no_source_is_drawn_with_the_judge_of_today(database):
    scene = judged(database)
    scene.week(1)
    for row in scene.source.rows:
        row["verdict"] = True
    waiting, scene.source.rows = scene.source.rows, []
    with contextlib.suppress(Exception):
        scene.run(1)
    assert scene.round(1).state is RoundState.OPEN
    scene.source.rows = waiting
    scene.settings = settings(sample=CELLS, judge=JUDGE.model_copy(update={"version": "2"}))
    for _ in range(3):
        scene.run()
        scene.answer()

    assert scene.round(1).state is RoundState.CLOSED
    assert "judge" in scene.concerns(1)["settings"]
    assert scene.report(1)["judge"]["title"] == scene.settings.judge.title


def test_a_judge_that_says_yes_more_often_at_equal_scores_is_noticed(two):
    assert not [row for row in two.report(2)["notices"] if row["kind"] == "judge"]

    play(two, 3, lambda truth, rng: bool(rng.random() < (0.9 if truth else 0.08)), count=3000)

    [notice] = [row for row in two.report(3)["notices"] if row["kind"] == "judge"]
    assert notice["value"] > 1.2
    assert "Estimates stay valid" in notice["sentence"]


def test_items_without_a_score_are_not_taken_for_items_without_a_verdict(database):
    source = MemorySource([], show=["text"], judge="verdict")
    scene = Scene(database, settings(threshold=None, judge=JUDGE, sample=CELLS), source)
    scene.week(1)
    for number, row in enumerate(scene.source.rows):
        row |= {"predicted": row["score"] >= THRESHOLD, "verdict": number % 3 == 0}
        row["score"] = None if number % 4 == 0 else row["score"]
    scene.run(1)
    scene.finish(1)

    found = JudgeRow.model_validate(scene.report(1)["judge"])
    assert (found.size, found.missing, scene.concerns(1)) == (1500, 0, {})


def test_nobody_who_labels_learns_of_a_verdict(one):
    assert one.tasks
    assert all(set(task.shown) == {"text"} for task in one.tasks)
    assert not any("yes" in task.place or "yes" in task.key for task in one.tasks)
    assert not any("verdict" in str(row) for row in one.rows("select shown from payloads"))


def test_a_limit_on_the_judge_raises_an_alert_of_its_own_and_none_on_the_classifier(database):
    limits = Limits.model_validate(
        {"precision": 0.3, "recall": 0.3, "judge_tpr": 0.7, "judge_fpr": 0.1}
    )
    scene = judged(database, limits=limits)
    for number in (1, 2):
        play(scene, number, count=3000)
    assert scene.report(2)["alerts"] == []

    for number in (3, 4):
        play(
            scene,
            number,
            lambda truth, rng: bool(rng.random() < (0.4 if truth else 0.02)),
            count=3000,
        )

    [alert] = scene.report(4)["alerts"]
    assert (alert["metric"], alert["side"], alert["state"]) == ("judge_tpr", "at_least", "firing")
    found = own_estimate(scene, 4, "judge_tpr")
    assert found.low <= true_values(scene, 4)["tpr"] <= found.high
    [notice] = scene.alert_notices()
    assert "judge_tpr is under its limit 0.7: 0.4" in notice["sentence"]
    assert (
        "in this round. The classifier's estimates do not depend on the judge" in notice["sentence"]
    )
    assert "set a new judge.version" in notice["to_do"]
    sentence = recovery_sentence(
        AlertRow.model_validate(alert), RecoveryRow.model_validate(alert["recovery"])
    )
    assert sentence.startswith(f"judge_tpr is {found.point:.2f} in this round, under its limit")
    assert "stays there" not in sentence
    evidence = {row["metric"]: row["log_evidence"] for row in scene.report(4)["evidence"]}
    assert evidence["recall"] < 1
