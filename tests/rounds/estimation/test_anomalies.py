"""Notices say what is unusual about a round, in the report and the log, and wake nobody."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select

from monitor.domain.model import Answer
from monitor.domain.notice import Notice
from monitor.domain.report import NoticeRow, RoundReport
from monitor.hooks.context import HookContext
from monitor.hooks.log import LogHandler, LogSettings
from monitor.rounds.delivery import deliver
from monitor.rounds.estimation.anomalies import CHANGED, LEVEL, round_anomalies
from monitor.storage.results import report_store
from monitor.storage.tables import effects
from monitor.tracking.describe import describe
from monitor.tracking.values import tags
from tests.rounds.estimation.tallies import known_of, tally_of
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
    return [(row.kind, row.subject) for row in found.notices]


def test_an_ordinary_round_has_none_and_its_distances_are_there():
    found = news(tally())

    assert found.notices == []
    assert sorted(found.distances) == ["ks", "psi"]
    assert 0 < found.distances["psi"] < 0.001
    assert 0 < found.distances["ks"] < 0.01


def test_the_first_round_has_neither():
    assert news(tally(), earlier=[]) == news(tally((1, 1, 1)), earlier=[])
    assert (news(tally(), earlier=[]).notices, news(tally(), earlier=[]).distances) == ([], {})
    assert news(tally(), earlier=QUIET[:2]).distances == {}


def test_twice_the_flags_are_told_as_other_items():
    found = news(tally((1220, 60, 48), (9000, 70, 0), (1000, 80, 8)))

    assert told(found) == [("frame", "population")]
    [notice] = found.notices
    assert notice.value == found.distances["psi"]
    psi, ks, flagged = notice.sentence.split("; ")
    assert psi.startswith(
        f"the window holds other items than usual: population stability index {notice.value:.3f}, "
        "where ordinary windows stay under 0.0"
    )
    assert ks.startswith(
        "Kolmogorov-Smirnov distance of the scores "
        f"{found.distances['ks']:.3f}, where ordinary windows stay under 0.0"
    )
    assert flagged == "10.9 % of the items are flagged, before 5.7 %"


def test_the_distance_of_scores_runs_from_the_lowest_to_the_highest():
    """600 items leave the lowest for the highest stratum and pass all between them."""
    found = news(tally((1200, 60, 48), (8400, 70, 0), (1000, 80, 8)))

    assert found.distances["ks"] == pytest.approx(1200 / 10600 - 2420 / 42490, abs=0.004)


def test_a_drop_of_precision_is_told_with_what_was_expected_and_what_changed():
    found = news(tally((600, 60, 24)))

    assert told(found) == [("predictive", "precision"), ("changed", "flagged")]
    outside, changed = found.notices
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
    changed = found.notices[1].sentence
    assert changed.startswith("the passed items seem to have changed")
    assert ": 0.166 of them are positive, before 0.01" in changed


def test_a_change_is_told_from_nine_tenths_on():
    values = [(y, news(tally((600, 60, y)))) for y in range(24, 49, 2)]
    probabilities = [
        next((row.value for row in found.notices if row.kind == "changed"), None)
        for _, found in values
    ]

    given = [value for value in probabilities if value is not None]
    assert min(given) >= CHANGED == 0.9
    assert 0.9 < min(given) < 0.99
    two_digits = next(v for v in values if v[1].notices and v[1].notices[-1].value == min(given))
    assert f"(probability {min(given):.2f}, had" in two_digits[1].notices[-1].sentence
    assert given == sorted(given, reverse=True)
    assert probabilities[-1] is None


def test_a_reference_is_enough_for_the_first_round():
    reference = {"flagged": (90, 100), "passed/1": (0, 100), "passed/2": (10, 100)}

    found = news(tally((600, 60, 24)), earlier=[], reference=reference)

    assert told(found) == [("predictive", "precision"), ("changed", "flagged")]


def test_a_window_without_items_or_labels_has_nothing_to_tell():
    assert news(tally((0, 0, 0), (0, 0, 0), (0, 0, 0))).notices == []
    assert told(news(tally((600, 0, 0), (9000, 0, 0), (1000, 0, 0)))) == []


# --- where it is told -------------------------------------------------------------------------


def payloads(scene, kind):
    query = select(effects).where(effects.c.kind == kind).order_by(effects.c.id)
    with scene.database.read() as connection:
        rows = connection.execute(report_store.with_report(query)).all()
        return [{**row._mapping, "payload": report_store.payload_of(row)} for row in rows]


def reports(scene):
    return [RoundReport.model_validate(row["payload"]) for row in payloads(scene, "round_run")]


def logged(scene):
    rows = payloads(scene, "notice")
    return [(row["sink"], Notice.model_validate(row["payload"]).event) for row in rows]


def test_a_real_round_tells_its_report_the_log_and_status_but_no_hook(database, monkeypatch):
    scene = Scene(database, settings(hooks=("ops",)))
    for number in (1, 2, 3):
        scene.play(number)
    assert logged(scene) == []

    scene.play(4, share=0.15, precision=0.3, recall=0.15)
    lines: list[tuple[str, str]] = []
    logger: Any = SimpleNamespace(info=lambda text, **keys: lines.append((text, keys["notice"])))
    monkeypatch.setattr("monitor.hooks.log._stderr_logger", lambda: logger)
    deliver(database, {"log": LogHandler(LogSettings(), HookContext("log"))}, lambda: scene.now)

    kinds = ["frame", "predictive", "predictive", "changed", "changed"]
    last = reports(scene)[-1]
    assert [row.kind for row in last.notices] == kinds
    assert logged(scene) == [("log", f"notice.{kind}") for kind in kinds]
    assert lines == [
        (f"mail, round 4: {row.sentence}.", f"notice.{row.kind}") for row in last.notices
    ]
    notes = scene.overview().notes
    assert notes[-5:] == [f"round 4: {row.sentence}" for row in last.notices]
    with database.read() as connection:
        found = scene.round(4).id
        assert report_store.read_report(connection, found, 1)["notices"] == [
            row.model_dump() for row in last.notices
        ]
        assert report_store.read_report(connection, found, 2) == {}


def test_late_labels_change_notices_in_the_report_and_repeat_nothing_in_the_log(database):
    scene = Scene(database, settings())
    scene.play(1)
    scene.play(2, precision=0.2, recall=0.27)
    before = logged(scene)
    flagged = scene.flagged()
    right = [item for item in scene.items(2) if item in flagged][: len(flagged) // 3]

    scene.labeler.answers.update(dict.fromkeys(right, Answer.POSITIVE))
    scene.now += timedelta(days=1)
    scene.run()

    first, second = reports(scene)[1:]
    assert (first.version, second.version) == (1, 2)
    assert ("predictive", "precision") in [(row.kind, row.subject) for row in first.notices]
    assert first.notices != second.notices
    assert logged(scene) == before != []


def test_mlflow_gets_kinds_as_a_tag_and_the_sentences():
    row = NoticeRow(kind="frame", subject="population", value=0.05, sentence="other | items")
    quiet = made_up_report(6)
    unusual = quiet.model_copy(update={"notices": [row, row]})

    assert tags(quiet)["monitor.notices"] == "none"
    assert tags(unusual)["monitor.notices"] == "frame"
    assert "**What needs a look:** Other \\| items." in describe(unusual)
    assert "needs a look" not in describe(quiet)
