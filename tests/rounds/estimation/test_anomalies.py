"""Notices say what is unusual about a round, in the report and the log, and wake nobody."""

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from scipy import stats

from monitor.domain.model import Answer, Verdict
from monitor.domain.report import NoticeRow, RoundReport
from monitor.domain.settings import ThresholdTarget
from monitor.hooks.context import HookContext
from monitor.hooks.log import LogHandler, LogSettings
from monitor.rounds.delivery import deliver
from monitor.rounds.estimation.anomalies import CHANGED, LEVEL, round_anomalies, threshold_notices
from monitor.rounds.estimation.tally import Tally
from monitor.tracking.describe import describe
from monitor.tracking.values import tags
from tests.rounds.estimation.tallies import known_of, tally_by_class, tally_of
from tests.rounds.scene import Scene, settings
from tests.tracking.reports import make_report as made_up_report

POINTS = 2**10

# --- what is told, from counts alone ----------------------------------------------------------


def tally(flagged=(600, 60, 48), low=(9000, 70, 0), high=(1000, 80, 8)):
    return tally_of(flagged=flagged, low=low, high=high)


QUIET = [
    tally(),
    tally((620, 60, 50), (8900, 70, 1), (1040, 80, 7)),
    tally((590, 60, 46), (9100, 70, 0), (960, 80, 9)),
    tally((610, 60, 49), (9050, 70, 0), (1010, 80, 8)),
]


def news(now, earlier=QUIET, reference=None, seed=7):
    known = known_of([*earlier, now], settings(), reference)
    return round_anomalies(now, earlier, known, settings(), seed=seed)


def told(found):
    return [(row.kind, row.subject) for row in found]


TWICE = tally((1220, 60, 48), (9000, 70, 0), (1000, 80, 8))


@pytest.mark.parametrize(("now", "earlier"), [(tally(), QUIET), (TWICE, []), (TWICE, QUIET[:2])])
def test_an_ordinary_round_and_the_first_ones_whatever_they_hold_have_none(now, earlier):
    assert news(now, earlier) == []


def test_twice_the_flags_are_told_as_other_items():
    [notice] = news(TWICE)

    assert told([notice]) == [("frame", "population")]
    psi, ks, flagged = notice.sentence.split("; ")
    assert psi.startswith(
        f"the window holds other items than usual: population stability index {notice.value:.3f}, "
        "where ordinary windows stay under 0.0"
    )
    assert 0.03 < distance_of_scores(ks) < 0.06
    assert ks.endswith(", where ordinary windows stay under 0.020")
    assert flagged == "10.9 % of the items are flagged, before 5.7 %"


def test_the_distance_of_scores_runs_from_the_lowest_to_the_highest():
    """600 items leave the lowest for the highest stratum and pass all between them."""
    [notice] = news(tally((1200, 60, 48), (8400, 70, 0), (1000, 80, 8)))

    _, ks, _ = notice.sentence.split("; ")
    wanted = 1200 / 10600 - 2420 / 42490
    assert distance_of_scores(ks) == pytest.approx(wanted, abs=0.004)


def distance_of_scores(text):
    return float(text.removeprefix("Kolmogorov-Smirnov distance of the scores ").split(",")[0])


def test_a_drop_of_precision_is_told_with_what_was_expected_and_what_changed():
    found = news(tally((600, 60, 24)))

    assert told(found) == [("predictive", "precision"), ("changed", "flagged")]
    outside, changed = found
    assert (outside.value, LEVEL) == (0.4, 0.995)
    low, high = map(float, outside.sentence.split("outside ")[1].split(",")[0].split(" to "))
    assert 0.55 < low < 0.7
    assert 0.9 < high < 1
    assert outside.sentence.startswith("precision 0.400, as the labels of this round have it, ")
    assert outside.sentence.endswith("where 99.5 % of rounds would fall by what was known before")
    assert changed.value > 0.999
    assert changed.sentence.startswith(
        "the flagged items seem to have changed just before this round (probability over 0.99, "
        "had it been as likely as not): 0.4 of them are positive, before 0.8"
    )


def test_a_drop_of_recall_is_seen_in_the_passed_class():
    found = news(tally(low=(9000, 70, 9), high=(1000, 80, 40)))

    assert told(found) == [("predictive", "recall"), ("changed", "passed")]
    changed = found[1].sentence
    assert changed.startswith("the passed items seem to have changed")
    assert ": 0.166 of them are positive, before 0.01" in changed


def test_a_change_is_told_from_nine_tenths_on():
    values = [(y, news(tally((600, 60, y)))) for y in range(24, 49, 2)]
    probabilities = [
        next((row.value for row in found if row.kind == "changed"), None) for _, found in values
    ]

    given = [value for value in probabilities if value is not None]
    assert min(given) >= CHANGED == 0.9
    assert 0.9 < min(given) < 0.99
    two_digits = next(v for v in values if v[1] and v[1][-1].value == min(given))
    assert f"(probability {min(given):.2f}, had" in two_digits[1][-1].sentence
    assert given == sorted(given, reverse=True)
    assert probabilities[-1] is None


def test_a_reference_is_enough_for_the_first_round():
    reference = {"flagged": (90, 100), "passed/1": (0, 100), "passed/2": (10, 100)}

    found = news(tally((600, 60, 24)), earlier=[], reference=reference)

    assert told(found) == [("predictive", "precision"), ("changed", "flagged")]


def test_a_window_without_items_or_labels_has_nothing_to_tell():
    assert news(tally((0, 0, 0), (0, 0, 0), (0, 0, 0))) == []
    assert told(news(tally((600, 0, 0), (9000, 0, 0), (1000, 0, 0)))) == []


# --- whether the threshold in use is allowed --------------------------------------------------

ROUND = tally_by_class(86, 14, 5, 95, flagged=1000, passed=9000)


def target_notices(*rounds, **target):
    *earlier, now = rounds
    asked = settings(threshold=0.5, threshold_target=ThresholdTarget(**target))
    return threshold_notices(now, earlier, asked)


def test_the_threshold_is_allowed_where_an_exact_binomial_test_is_sure():
    assert stats.binomtest(86, 100, 0.75, alternative="greater").pvalue < 0.01
    assert stats.binomtest(86, 100, 0.84, alternative="greater").pvalue > 0.3

    assert target_notices(ROUND, precision=0.75) == []
    [row] = target_notices(ROUND, precision=0.84)
    assert (row.kind, row.subject) == ("threshold", "precision")
    assert row.value > 0.3
    assert "threshold 0.5 is not allowed: the labels of this round" in row.sentence


def test_recall_can_be_the_target():
    assert target_notices(ROUND, recall=0.3) == []
    assert [row.subject for row in target_notices(ROUND, recall=0.9)] == ["recall"]


def test_earlier_rounds_are_pooled_up_to_the_number_that_the_target_names():
    """One round leaves .79 open; four of them do not. A bad one before them does not count."""
    bad = tally_by_class(0, 100, 5, 95, flagged=1000, passed=9000)

    assert target_notices(ROUND, precision=0.79) != []
    assert target_notices(bad, *[ROUND] * 4, precision=0.79, rounds=4) == []
    [row] = target_notices(bad, *[ROUND] * 4, precision=0.79, rounds=5)
    assert "the labels of the last 5 rounds" in row.sentence
    assert "--rounds 5" in row.sentence


def test_a_higher_confidence_allows_less():
    assert target_notices(ROUND, precision=0.78) == []
    assert target_notices(ROUND, precision=0.78, confidence=0.999) != []


@pytest.mark.parametrize("change", [{"verdict": Verdict.YES}, {"unscored": True}])
def test_strata_without_an_order_by_score_are_reported_and_not_tested(change):
    parts = [
        replace(part, stratum=replace(part.stratum, **change)) if h == 0 else part
        for h, part in enumerate(ROUND.strata)
    ]

    [row] = target_notices(Tally(tuple(parts)), precision=0.1)

    assert "is not tested for precision 0.1" in row.sentence


def test_a_window_without_flagged_items_is_reported_and_not_tested():
    empty = tally_by_class(0, 0, 5, 95, flagged=0, passed=9000)

    assert "is not tested" in target_notices(empty, precision=0.1)[0].sentence


# --- where it is told -------------------------------------------------------------------------


def test_a_real_round_tells_its_report_the_log_and_status_but_no_hook(database, monkeypatch):
    scene = Scene(database, settings(hooks=("ops",)))
    for number in (1, 2, 3):
        scene.play(number)
    assert scene.notices() == []

    scene.play(4, share=0.15, precision=0.3, recall=0.15)
    lines: list[tuple[str, str]] = []
    logger: Any = SimpleNamespace(info=lambda text, **keys: lines.append((text, keys["notice"])))
    monkeypatch.setattr("monitor.hooks.log._stderr_logger", lambda: logger)
    deliver(database, {"log": LogHandler(LogSettings(), HookContext("log"))}, lambda: scene.now)

    kinds = ["frame", "predictive", "predictive", "changed", "changed"]
    last = RoundReport.model_validate(scene.reports()[-1])
    assert [row.kind for row in last.notices] == kinds
    assert [each["event"] for each in scene.notices()] == [f"notice.{kind}" for kind in kinds]
    assert scene.notices("ops") == []
    assert lines == [
        (f"mail, round 4: {row.sentence}.", f"notice.{row.kind}") for row in last.notices
    ]
    notes = scene.overview().notes
    assert notes[-5:] == [f"round 4: {row.sentence}" for row in last.notices]
    assert scene.round_report(4).notices == last.notices
    assert scene.report(4, version=2) == {}


def test_late_labels_change_notices_in_the_report_and_repeat_nothing_in_the_log(database):
    scene = Scene(database, settings())
    scene.play(1)
    scene.play(2, precision=0.2, recall=0.27)
    before = scene.notices()
    flagged = scene.flagged()
    right = [item for item in scene.items(2) if item in flagged][: len(flagged) // 3]

    scene.labeler.answers.update(dict.fromkeys(right, Answer.POSITIVE))
    scene.now += timedelta(days=1)
    scene.run()

    assert scene.round(2).version == 2
    first, second = (scene.report(2, version)["notices"] for version in (1, 2))
    assert ("predictive", "precision") in [(row["kind"], row["subject"]) for row in first]
    assert first != second
    assert scene.notices() == before != []


def test_mlflow_gets_kinds_as_a_tag_and_the_sentences():
    row = NoticeRow(kind="frame", subject="population", value=0.05, sentence="other | items")
    quiet = made_up_report(6)
    unusual = quiet.model_copy(update={"notices": [row, row]})

    assert tags(quiet)["monitor.notices"] == "none"
    assert tags(unusual)["monitor.notices"] == "frame"
    assert "**What needs a look:** Other \\| items." in describe(unusual)
    assert "needs a look" not in describe(quiet)
