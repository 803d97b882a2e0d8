"""Restating old rounds: new numbers beside the old ones, and no move of any alert."""

from dataclasses import replace
from datetime import timedelta

import pytest

from monitor.cli.views.rounds_page import page_json
from monitor.domain.alerting import AlertState
from monitor.domain.errors import InputRefused, TryLater
from monitor.domain.model import Answer
from monitor.rounds import restating
from monitor.rounds.estimation import batch_estimates
from monitor.rounds.estimation.batch_estimates import estimated
from monitor.rounds.estimation.estimate import estimate_round
from monitor.rounds.estimation.reading import read_batch
from monitor.rounds.parts.registry import version_parts
from monitor.rounds.round_page import read_page
from monitor.storage.rounds import round_claims
from tests.rounds.played import played
from tests.rounds.restatements import file_with, restate, restate_precision, scene_of


@played
def scene(database):
    """Two good rounds."""
    scene = scene_of(database)
    play_good(scene, 1, 2)
    return scene


@played
def good(scene):
    """Three good rounds."""
    play_good(scene, 3)
    return scene


@played
def fired(database):
    """A round that fires between two good ones."""
    scene = scene_of(database)
    play_good(scene, 1)
    scene.play(2, precision=0.3, recall=0.6)
    play_good(scene, 3)
    return scene


def page(scene, number, version=None):
    return page_json(scene.read(read_page, scene.name, number, version))


def precision(scene, number, version=None, basis="round"):
    rows = page(scene, number, version)["estimates"]
    [row] = [
        row
        for row in rows
        if (row["metric"], row["basis"]) == ("precision", basis)
        and row["estimand"] == {"round": "window", "pooled": "rate"}[basis]
    ]
    return row["point"]


def evidence(scene):
    """What the evidence of each round is by its newest version."""
    return scene.rows(
        "select number, metric, log_e, log_m, log_evidence, log_recovery, recovery_rounds, log_r"
        " from evidence e join rounds on rounds.id = e.round_id"
        " where e.version = rounds.version order by number, metric"
    )


def kinds(scene):
    return [row["kind"] for row in scene.rows("select kind from effects order by id")]


def play_good(scene, *numbers):
    for number in numbers:
        scene.play(number, precision=0.85, recall=0.6)


def test_changed_labels_give_a_closed_round_a_new_version_and_those_that_pool_it_once(good):
    before = precision(good, 2, basis="pooled")

    outcome = restate_precision(good, 2, to=Answer.NEGATIVE)
    effects = kinds(good)
    again = restate_precision(good, 2, to=Answer.NEGATIVE)

    found = [(one.round, one.version, one.own) for one in outcome.restated]
    assert found == [(2, 2, True), (3, 2, False)]
    assert (again.restated, kinds(good)) == ([], effects)
    assert [good.round(n).version for n in (1, 2, 3)] == [1, 2, 2]
    assert precision(good, 2) < 0.1
    assert precision(good, 2, 1) > 0.7
    assert precision(good, 3) == precision(good, 3, 1)
    assert precision(good, 3, basis="pooled") != precision(good, 3, 1, basis="pooled")

    # A version says who restated it, when, why, and what stood there before.
    [of_own] = page(good, 2)["restated"]
    [of_pooling] = page(good, 3)["restated"]
    told = {name: of_own[name] for name in ("by", "reason", "at", "version", "replaces", "rounds")}
    assert told == {
        "by": "ana",
        "reason": "a label file was wrong",
        "at": good.now.isoformat(),
        "version": 2,
        "replaces": 1,
        "rounds": [2],
    }
    assert (of_own["own"], of_pooling["own"], of_pooling["rounds"]) == (True, False, [2])
    assert before in [row["point"] for row in of_own["before"]]
    assert page(good, 2, 1)["restated"] == []
    reason = "restated by ana, a label file was wrong: version 2"
    assert page(good, 2)["events"][-1]["reason"] == reason

    # Reports keep the numbers of every version.
    first, second = (good.report(2, version) for version in (1, 2))
    assert (first["restated"], len(second["restated"])) == ([], 1)
    marked = [[point["restated"] for point in report["timeline"]] for report in (first, second)]
    assert marked == [[False, False], [False, True]]
    assert second["alerts"] == first["alerts"]


def test_neither_a_restatement_nor_late_labels_after_it_revise_an_alert_by_its_labels(fired):
    """The correction by late labels goes through the evidence of the whole chain again."""
    before = evidence(fired)

    restate_precision(fired, 2, to=Answer.POSITIVE)

    assert precision(fired, 2) > 0.95
    assert [(a.fired_in_round, a.state) for a in fired.alerts()] == [(2, AlertState.FIRING)]
    assert evidence(fired) == before
    assert "notice" not in kinds(fired)[-4:]

    change_one_answer(fired, 3)

    assert fired.round(3).version == 3
    assert [(a.fired_in_round, a.state) for a in fired.alerts()] == [(2, AlertState.FIRING)]
    of_second = [row for row in before if row["number"] == 2]
    assert [row for row in evidence(fired) if row["number"] == 2] == of_second


def change_one_answer(scene, number):
    """Somebody changes their mind about an item of a round that takes late labels."""
    scene.turn(scene.items(number)[0])
    scene.run()


def test_a_round_that_is_open_while_older_ones_are_restated_finds_the_same_evidence(scene):
    scene.draw(3, precision=0.6, recall=0.6)
    scene.answer()
    scene.collect(3)
    without_it = log_e_of(scene, 3)

    restate_precision(scene, 1, 2, to=Answer.NEGATIVE)
    scene.run()

    assert scene.round(3).version == 1
    assert stored_log_e(scene, 3) == without_it


def log_e_of(scene, number):
    """What a round's labels say by now about each limit, before anything is written of it."""
    round_ = scene.round(number)
    estimates = estimated(read_batch(scene.context, round_), scene.now)
    return {r.limit.metric: pytest.approx(list(r.log_e)) for r in estimates[round_.id].readings}


def stored_log_e(scene, number):
    rows = scene.rows(
        "select metric, log_e from evidence e join rounds on rounds.id = e.round_id"
        " and rounds.version = e.version where number = :number",
        number=number,
    )
    return {row["metric"]: row["log_e"] for row in rows}


def test_a_restatement_fires_no_alert_however_bad_its_labels_are(good):
    before = evidence(good)
    good.now += timedelta(days=2)

    restate_precision(good, 2, 3, to=Answer.NEGATIVE)

    assert precision(good, 3) < 0.1
    assert evidence(good) == before
    play_good(good, 4)
    assert good.alerts() == []


def test_a_newer_method_gives_all_rounds_from_one_on_a_version_each(good, monkeypatch):
    good.now += timedelta(days=2)
    narrower(monkeypatch)

    outcome = restate(good, since=2)

    found = [(one.round, one.version, one.own) for one in outcome.restated]
    assert found == [(2, 2, True), (3, 2, True)]
    low_before, low = (
        next(r["low"] for r in page(good, 3, v)["estimates"] if r["metric"] == "precision")
        for v in (1, 2)
    )
    assert low > low_before
    assert good.rows("select count(*) as n from restatements") == [{"n": 1}]


def narrower(monkeypatch):
    """Let a newer release estimate otherwise."""
    real = estimate_round

    def other(*args, **named):
        found = real(*args, **named)
        rows = [
            row if row.low is None else row.model_copy(update={"low": row.low + 0.01})
            for row in found.rows
        ]
        return replace(found, rows=rows)

    monkeypatch.setattr(batch_estimates, "estimate_round", other)


def test_what_an_annotator_said_who_was_wrong_can_be_taken_out(good):
    restate(good, 2, read_file=file_with(good, Answer.NEGATIVE, annotator="eva"))
    tied = page(good, 2)["strata"][0]["declined"]

    with pytest.raises(InputRefused, match=r"'evva' labeled none of the rounds .* 'eva' did: give"):
        restate(good, without="evva")
    refused = good.round(2).version

    restate(good, 2, without="eva")

    of_eva = good.rows("select distinct labeler from label_events where annotator = 'eva'")
    assert (refused, tied > 10) == (2, True)
    assert [row["labeler"] for row in of_eva] == ["files"]  # no labeler takes it back
    assert page(good, 2)["strata"][0]["declined"] == 0
    assert precision(good, 2) == precision(good, 2, 1)
    assert restate(good, without="eva").restated == []  # taken out already, and known still
    with pytest.raises(InputRefused, match="no label for one of the predicted classes"):
        restate(good, 2, without=good.labeler.annotator)


def test_a_round_that_is_not_closed_or_that_another_worker_has_is_refused(good):
    good.draw(4)

    for number, why in (
        (4, "round 4 of mail is labeling; only closed rounds can be restated"),
        (9, "mail has no round 9; its rounds lie between 1 and 4"),
    ):
        with pytest.raises(InputRefused, match=why):
            restate(good, number)
    good.write(round_claims.claim_round, good.round(2).id)
    with pytest.raises(TryLater, match="another worker is busy with round 2"):
        restate_precision(good, 2, to=Answer.NEGATIVE)


def test_late_labels_of_a_later_round_stay_to_be_corrected_by_themselves(scene):
    """They came before the restatement that gives their round a version, and are not in it."""
    scene.play(3, precision=0.3, recall=0.6)
    scene.judge_flagged(3, Answer.POSITIVE)
    scene.collect(3)

    restate_precision(scene, 2, to=Answer.NEGATIVE)
    in_between = precision(scene, 3), [a.state for a in scene.alerts()]
    scene.run()

    assert (in_between[0], in_between[1][0]) == (precision(scene, 3, 1), AlertState.FIRING)
    assert precision(scene, 3) > 0.9
    assert [a.state for a in scene.alerts()] == [AlertState.REVISED]


def test_late_labels_of_the_round_itself_are_counted_before_it_is_restated(scene):
    scene.judge_flagged(2, Answer.POSITIVE)
    scene.collect(2)
    scene.now += timedelta(days=2)

    with pytest.raises(TryLater, match="late labels that no version has counted"):
        restate_precision(scene, 2, to=Answer.NEGATIVE)

    assert scene.round(2).version == 1
    scene.run()
    assert [one.version for one in restate_precision(scene, 2, to=Answer.NEGATIVE).restated] == [3]


def test_a_round_that_closes_meanwhile_is_restated_with_the_others(scene, monkeypatch):
    scene.draw(3, precision=0.85, recall=0.6)
    scene.answer()
    real, times = version_parts, []

    def while_computing(*args, **named):
        times.append(1)
        if len(times) == 1:
            scene.run()
        return real(*args, **named)

    monkeypatch.setattr(restating, "version_parts", while_computing)

    outcome = restate_precision(scene, 2, to=Answer.NEGATIVE)

    assert [(one.round, one.version) for one in outcome.restated] == [(2, 2), (3, 2)]
    assert scene.rows("select count(*) as n from restatements") == [{"n": 1}]
    assert scene.rows(
        "select count(distinct external_id || revision) - count(*) as n from label_events"
    ) == [{"n": 0}]
