"""The views, which people and dashboards read, say what the program says of each round."""

import re
from datetime import datetime, timedelta

import pytest
from sqlalchemy import insert, select

from monitor.domain.errors import SourceRefused
from monitor.domain.model import Answer, EffectKind, Stratum
from monitor.domain.report import RoundReport, find_row
from monitor.domain.sample_settings import Bands, Sample
from monitor.domain.segments import SegmentRow
from monitor.domain.state import RoundState
from monitor.presentation.parts.agreement import AGREEMENT, AgreementRow
from monitor.presentation.parts.segments import SEGMENTS
from monitor.rounds.open_rounds import open_rounds
from monitor.storage.database import change
from monitor.storage.labels import label_store
from monitor.storage.outbox import effect_store
from monitor.storage.results import estimate_store
from monitor.storage.rounds import round_store, round_transitions
from monitor.storage.samples.frame_store import StratumTally
from monitor.storage.tables import alerts, effects, monitors, rounds
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, MONDAY, Scene, segmented, settings
from tests.storage.released.write import play
from tests.storage.rows import (
    add_effect,
    add_round,
    claimed,
    claimed_effect,
    draw,
    read,
    rows,
    say_at_random,
    slot_of,
    write,
)

SAMPLE = Sample(max_labels=60, bands=Bands(flagged=1, passed=1))
BANDS = (
    Stratum("flagged-1", flagged=True),
    Stratum("flagged-2", flagged=True),
    Stratum("passed", flagged=False),
)


def results(database):
    """Rows of ``round_results``, by the number of the round."""
    return {row["round"]: row for row in rows(database, "select * from round_results")}


def as_time(found):
    """SQLite has times as texts, in UTC."""
    return found if isinstance(found, datetime) else datetime.fromisoformat(f"{found}+00:00")


def share_of(told):
    """Evidence of a report as a share of what fires; None where it gathered none."""
    if told.log_evidence is None:
        return None
    return pytest.approx(told.log_evidence / told.log_threshold)


@played
def filled(database):
    """A store with a round in each state; rounds 1 and 2 closed under an alert, 5 without one."""
    play(database)
    return database


@played
def corrected(database):
    """A scene whose second round got a second version by labels that changed."""
    scene = Scene(database, settings(limits=LIMITS, sample=SAMPLE))
    scene.play(1, count=400)
    scene.play(2, count=400)
    for item in sorted(scene.truth)[:200]:
        scene.labeler.answers[item] = Answer.NEGATIVE
    for item in sorted(scene.truth)[400:]:
        if item in scene.labeler.answers:
            scene.labeler.answers[item] = Answer.NEGATIVE
    scene.run()
    assert scene.round(2).version == 2
    return scene


def test_each_closed_round_has_the_figures_of_its_newest_report(corrected):
    found = results(corrected.database)
    evidence = rows(corrected.database, "select * from latest_evidence order by round, metric")
    assert [(row["round"], row["metric"]) for row in evidence] == [
        *((1, "precision"), (1, "recall"), (2, "precision"), (2, "recall"))
    ]
    assert evidence[2]["share"] > 1  # by the labels of today

    for number in (1, 2):
        round_ = corrected.round(number)
        row = found[number]
        report = RoundReport.model_validate(corrected.report(number))
        for metric in ("precision", "recall", "prevalence"):
            for basis in ("round", "pooled"):
                told = find_row(report.estimates, metric, basis)
                assert told is not None
                shown = [row[f"{metric}_{basis}_{end}"] for end in ("point", "low", "high")]
                assert shown == [told.point, told.low, told.high]
        for watched in report.evidence:
            assert row[f"{watched.metric}_limit"] == watched.limit
            assert row[f"{watched.metric}_evidence"] == share_of(watched)
            [same] = [
                one for one in evidence if (one["round"], one["metric"]) == (number, watched.metric)
            ]
            assert (same["version"], same["limit"]) == (round_.version, watched.limit)
            assert same["share"] == share_of(watched)
        assert (row["status"], row["version"]) == (report.status, report.version)
        assert (row["size"], row["flagged"]) == (report.size, report.flagged)
        assert row["flagged_rate"] == pytest.approx(report.flagged / report.size)
        labels = ("planned", "labeled", "declined", "unanswered")
        assert {name: row[name] for name in labels} == {
            name: sum(getattr(part, name) for part in report.strata) for name in labels
        }
        hours = ("half_hours", "most_hours", "last_hours")
        assert {name: row[name] for name in hours} == {
            name: getattr(report.answers, name) for name in hours
        }
        assert (row["threshold"], row["model_version"]) == (0.5, None)
        assert as_time(row["slot"]) == report.slot


def test_estimates_are_of_the_last_version_and_of_all_matrices_the_last_is_marked(corrected):
    last = {number: corrected.round(number).version for number in (1, 2)}

    estimates = rows(corrected.database, "select distinct round, version from latest_estimates")
    matrices = rows(corrected.database, "select round, version, latest from confusion_matrices")

    assert sorted((row["round"], row["version"]) for row in estimates) == [*last.items()]
    assert {(row["round"], row["version"]): bool(row["latest"]) for row in matrices} == {
        (number, version): version == newest
        for number, newest in last.items()
        for version in range(1, newest + 1)
    }


def test_all_rounds_are_there_and_those_without_an_estimate_have_none(filled):
    of_first = select(rounds.c.id).where(rounds.c.number == 1).scalar_subquery()
    run = (effects.c.round_id == of_first, effects.c.kind == "round_run")
    write(filled, change, effects, *run, receipt="experiments/3/runs/ab12")
    found = results(filled)

    assert (found[1]["mlflow_run"], found[2]["mlflow_run"]) == ("experiments/3/runs/ab12", None)
    nothing = {
        number: {
            name: value
            for name, value in row.items()
            if value is not None
            and re.match(r"precision|recall|prevalence|labeled|declined|unanswered|version", name)
        }
        for number, row in found.items()
    }
    states = {number: row["state"] for number, row in found.items()}
    assert states == {
        1: "closed",
        2: "closed",
        3: "abandoned",
        4: "skipped",
        5: "closed",
        6: "labeling",
        7: "open",
    }
    assert {number: row["status"] for number, row in found.items() if number not in {1, 2, 5}} == {
        3: "stale",
        4: None,
        6: None,
        7: None,
    }
    assert sorted(number for number, there in nothing.items() if not there) == [3, 4, 6, 7]
    assert (found[6]["planned"], found[4]["planned"], found[7]["size"]) == (20, None, None)


def test_the_status_is_what_the_newest_report_says(filled):
    before = rows(filled, "select * from monitor_status")
    unlabeled = rounds.c.number.in_((5, 6))
    write(filled, change, rounds, unlabeled, state=RoundState.SKIPPED)
    after = rows(filled, "select * from monitor_status")

    [old], [new] = before, after
    assert (old["monitor"], old["status"], old["reported_round"]) == ("mail", "alert", 5)
    assert (new["status"], new["reported_round"], new["estimated_round"]) == ("stale", 3, 2)
    assert (old["newest_round"], old["newest_state"]) == (7, "open")
    assert old["sentence"].startswith("Window 2025-03-24 to 2025-03-31: precision")
    assert "no estimate" in new["sentence"]


def test_an_open_alert_is_counted_until_a_person_ends_it(filled):
    [before] = rows(filled, "select * from monitor_status")
    [fired] = rows(filled, "select min(fired_at) as at from open_alerts")
    write(filled, change, alerts, state="resolved")
    [after] = rows(filled, "select * from monitor_status")

    assert before["open_alerts"] > 0
    assert before["alert_since"] == fired["at"]
    assert (after["open_alerts"], after["alert_since"]) == (0, None)
    assert after["status"] == "alert"  # what the newest report says, until there is a newer one


def test_the_figures_of_a_monitor_are_those_of_its_newest_estimate(corrected):
    corrected.week(3, count=400)
    corrected.run(3)

    [status] = rows(corrected.database, "select * from monitor_status")
    row = results(corrected.database)[2]

    shown = [name for name in status if re.search(r"^(precision|recall)_", name)]
    assert {name: status[name] for name in shown} == {name: row[name] for name in shown}
    assert {"precision_pooled_point", "recall_limit", "recall_evidence"} < set(shown)
    assert (status["estimated_round"], status["newest_round"]) == (2, 3)

    # A round that lies ahead is not the newest, and a monitor without a round has no status.
    ahead = datetime.now(corrected.now.tzinfo) + timedelta(days=1)
    with corrected.database.write() as connection:
        for number in (2, 3):
            later = ahead + timedelta(days=number)
            change(connection, rounds, rounds.c.number == number, slot=later)
        connection.execute(insert(monitors).values(name="new", created_at=corrected.now))

    [new] = rows(corrected.database, "select * from monitor_status where monitor = 'new'")
    [status] = rows(corrected.database, "select * from monitor_status where monitor = 'mail'")
    assert [status[f"{name}_round"] for name in ("newest", "reported", "estimated")] == [1, 1, 1]
    assert {name for name, value in new.items() if value not in {None, 0}} == {"monitor"}


def test_evidence_is_unknown_at_first_and_while_an_alert_is_open(filled):
    found = rows(
        filled, "select round, share from latest_evidence where metric = 'precision' order by round"
    )

    [fired] = rows(filled, "select fired_in_round from open_alerts where metric = 'precision'")
    assert [(row["round"], row["share"] is None) for row in found] == [
        *((1, True), (2, False), (5, True))
    ]
    assert fired == {"fired_in_round": 2}
    assert found[1]["share"] >= 1


def test_rounds_that_wait_have_the_answers_that_status_counts(database):
    scene = Scene(database, settings(sample=SAMPLE))
    scene.week(1, count=400)
    scene.run(1)
    with database.write() as connection:
        [one] = round_store.find_rounds(connection)
        keys = sorted(label_store.all_tasks(connection, [one.id]))
        say_at_random(connection, keys, ("ada", "bob"), 150, scene.now)

    [waiting] = rows(database, "select * from waiting_rounds")
    [told] = read(database, open_rounds, "mail")

    assert (waiting["wanted"], waiting["answered"]) == (told.wanted, told.answered)
    assert 0 < told.answered < told.wanted
    assert as_time(waiting["deadline"]) == told.deadline
    assert as_time(waiting["since"]) == scene.now
    with pytest.raises(SourceRefused):
        scene.run(2)
    [waiting] = rows(database, "select * from waiting_rounds")  # the first one is over
    assert (waiting["state"], waiting["wanted"], waiting["answered"]) == ("open", None, 0)
    assert "no predictions" in waiting["reason"]


def closed(database, counted):
    """A round with a version, which is the (labeled, positive, declined) of every stratum."""
    sizes, planned = (100, 60, 4000), (10, 25, 40)
    round_id = add_round(database)
    draw(database, round_id, sizes=sizes, expected=planned, strata=BANDS)
    claim = claimed(database, round_id)
    tallies = [
        StratumTally(stratum, size, wanted, *cells)
        for stratum, size, wanted, cells in zip(BANDS, sizes, planned, counted, strict=True)
    ]
    with database.write() as connection:
        round_transitions.move(
            connection, claim, RoundState.LABELING, RoundState.CLOSED, reason="in", now=MONDAY
        )
        estimate_store.write_counts(connection, {(round_id, 1): tallies})
        estimate_store.set_version(connection, round_id, 1, estimated_revision=0)


def test_the_matrix_holds_what_was_labeled_and_what_that_makes_in_the_window(database):
    closed(database, [(10, 8, 0), (20, 15, 2), (40, 1, 0)])

    [found] = rows(database, "select * from confusion_matrices")

    labeled = {name: found[name] for name in ("tp", "fp", "fn", "tn", "declined", "unanswered")}
    window = {name: found[f"window_{name}"] for name in ("tp", "fp", "fn", "tn")}
    assert labeled == {"tp": 23, "fp": 7, "fn": 1, "tn": 39, "declined": 2, "unanswered": 3}
    assert window == pytest.approx({"tp": 125, "fp": 35, "fn": 100, "tn": 3900})
    assert (found["flagged_size"], found["passed_size"]) == (160, 4000)
    assert (found["monitor"], found["round"], found["version"]) == ("mail", 1, 1)
    assert (found["model_version"], found["threshold"]) == (None, 0.5)
    assert {type(value) for value in labeled.values()} == {int}  # on every database
    assert {type(value) for value in window.values()} == {float}


@pytest.mark.parametrize(
    ("counted", "blank"),
    [
        ([(0, 0, 0), (20, 15, 0), (40, 1, 0)], {"tp", "fp"}),
        ([(10, 8, 0), (20, 15, 0), (0, 0, 4)], {"fn", "tn"}),
    ],
)
def test_a_class_with_a_stratum_without_labels_is_not_scaled(database, counted, blank):
    closed(database, counted)

    [found] = rows(database, "select * from confusion_matrices")

    assert {name for name in ("tp", "fp", "fn", "tn") if found[f"window_{name}"] is None} == blank
    assert found["tp"] + found["fp"] + found["fn"] + found["tn"] == sum(c[0] for c in counted)


def test_waiting_effects_tell_what_waits_since_when_and_whether_for_somebody(
    database,
):
    ids = [add_round(database, number) for number in (1, 2)]
    add_effect(database, ids[0], "a", sink="mlflow", kind=EffectKind.ROUND_RUN)
    add_effect(database, ids[0], "b", sink="mlflow", kind=EffectKind.FLEET_POINT)
    add_effect(database, ids[1], "c", sink="mlflow", now=slot_of(2))
    add_effect(database, ids[0], "d", sink="ops")
    done, head = claimed_effect(database, 4), claimed_effect(database, 1)
    later = MONDAY + timedelta(minutes=1)
    with database.write() as connection:
        effect_store.finish_effect(connection, done, "HTTP 200", MONDAY)
        effect_store.put_off_effect(connection, head, "it does not answer", later)

    [found] = rows(database, "select * from waiting_effects")
    [same] = read(database, effect_store.find_waiting)
    write(database, change, effects, effects.c.id == head.id, status="dead")
    [dead] = rows(database, "select dead from waiting_effects")

    assert [found[name] for name in ("monitor", "sink", "waiting", "rounds", "tries", "dead")] == [
        *("mail", "mlflow", 3, 2, 1, False)
    ]
    assert dead == {"dead": True}  # its first effect needs somebody
    assert found["last_error"] == "it does not answer"
    assert [str(found[name])[:16] for name in ("since", "next_try")] == [
        "2025-03-03 06:00",
        "2025-03-03 06:01",
    ]
    assert (same.effects, same.rounds, same.since, same.next_try) == (3, 2, MONDAY, later)
    assert (same.tries, same.last_error) == (1, "it does not answer")


def test_segments_and_agreement_are_those_of_the_newest_report(database):
    scene = segmented(database, overlap=0.2, late_labels=timedelta(days=1))
    scene.week(1)
    for place, row in enumerate(scene.source.rows):
        row |= {"country": "CZ" if place % 3 else None, "client": f"client {place % 2}"}
    scene.run(1)
    scene.answer()
    for task in scene.tasks:
        if task.slot == 2:
            scene.labeler.second_answers[task.item_id] = scene.truth[task.item_id]
    scene.run()
    scene.turn(*sorted(scene.items(1))[:3])
    scene.run()

    report = scene.round_report(1)
    segments = rows(database, "select * from segments order by segment, size desc, value, metric")
    [agreement] = rows(database, "select * from agreement")

    assert report.version == 2
    assert [{name: row[name] for name in SegmentRow.model_fields} for row in segments] == [
        row.model_dump() for row in SEGMENTS.of(report)
    ]
    assert len(segments) == 8
    assert {(row["monitor"], row["round"], row["version"]) for row in segments} == {("mail", 1, 2)}
    own = {name: agreement[name] for name in AgreementRow.model_fields}
    assert AgreementRow.model_validate(own) == AGREEMENT.of(report)
    assert agreement["items"] > 0
