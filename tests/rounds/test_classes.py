"""A block of classes: what is reported once all rounds of a window have ended, and what is not."""

from datetime import timedelta
from unittest import mock

import numpy as np
import pytest
from sqlalchemy import insert, select

from monitor.domain.block import Block
from monitor.domain.class_report import ClassReport
from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Sample
from monitor.domain.state import RoundState
from monitor.presentation.classes import report_table
from monitor.rounds import classes, run
from monitor.rounds.classes import publish_classes
from monitor.storage.rounds import round_store
from monitor.storage.tables import rounds
from tests.crashes import Killed
from tests.rounds.class_block import CLASSES, ClassBlock
from tests.rounds.played import played
from tests.rounds.restatements import file_with, restate
from tests.rounds.scene import MONDAY, WEEK, settings

SAMPLE = Sample(max_labels=60, bands=Bands(flagged=1, passed=1))
REPORTS = "select payload, id from effects where kind = 'class_averages' order by id"


class Reported(ClassBlock):
    """A block whose classes come and go, and what it reported."""

    def becomes(self, *values):
        """Let the config have these classes and no others."""
        self.names = {value: self[value].name for value in values}
        for value, scene in self.monitors.items():
            of = Block(name="mail", kind="classes", value=value, values=values)
            scene.settings = settings(block=of, sample=SAMPLE)

    @property
    def reports(self):
        """What was reported, oldest first."""
        return [ClassReport.model_validate(row["payload"]) for row in self.rows(REPORTS)]


@played
def block(database):
    """A block whose first window has predictions."""
    found = Reported(database, sample=SAMPLE)
    found.week()
    return found


@played
def waiting(block):
    """That block, two of whose rounds have closed."""
    block.play("travel", "finance")
    return block


@played
def reported(block):
    """That block, all of whose rounds have closed, some answers missing."""
    for item in [*block["news"].truth][::9]:
        block["news"].truth[item] = Answer.CANNOT_TELL
    block.play()
    return block


@played
def reported_twice(reported):
    """And those of the second window."""
    reported.week(2)
    reported.play(number=2)
    return reported


def test_averages_are_reported_once_the_last_class_has_closed_in_any_order(block):
    block.play("news", "travel")
    assert block.reports == []
    assert block.overview.waits_for == ("finance",)

    block.play("finance")

    [report] = block.reports
    assert [row.value for row in report.classes] == list(CLASSES)
    assert report.missing == ()
    assert (report.labels, report.round) == (180, 1)
    ids = block["news"].rows("select distinct id from items")
    assert report.items == len(ids) < report.labels  # an item of several samples is one
    assert {(row.average, row.metric) for row in report.averages} == {
        (average, metric) for average in ("macro", "micro") for metric in ("precision", "recall")
    }
    assert block.overview.report == report
    assert block.overview.waits_for == ()


def test_a_report_says_what_the_classes_rounds_say_and_is_published_once(reported):
    for scene in reported.monitors.values():
        scene.run()
        publish_classes(scene.context, [MONDAY])

    [report] = reported.reports
    scene = reported["news"]
    assert 0 < report.unlabeled == 180 - report.labels
    said = f"{report.unlabeled} answers of 3 rounds are missing: these intervals assume that"
    assert said in "\n".join(report_table(report).lines)
    points = scene.rows(
        "select point from estimates where metric = 'precision' and estimand = 'window' "
        "and basis = 'round'"
    )
    macro = report.average("macro", "precision")
    assert macro.point == pytest.approx(np.mean([row["point"] for row in points]))
    assert macro.low < macro.point < macro.high


def test_the_last_report_stands_however_many_rounds_wait_since(reported):
    database = reported["finance"].database
    with database.write() as connection:
        for row in connection.execute(select(rounds)).mappings().all():
            copied = {name: value for name, value in row.items() if name != "id"}
            later = [copied | {"number": n, "slot": row["slot"] + n * WEEK} for n in range(2, 14)]
            connection.execute(insert(rounds), later)

    assert reported.overview.report == reported.reports[0]


def test_an_abandoned_round_is_named_and_nothing_is_estimated(waiting):
    block, scene = waiting, waiting["news"]
    scene.run(1)  # nobody answers
    scene.now += timedelta(days=6)
    scene.run()

    assert scene.round(1).state is RoundState.ABANDONED
    [report] = block.reports
    assert report.averages == ()
    [missing] = report.missing
    assert (missing.value, missing.round) == ("news", 1)
    assert missing.missing.startswith("round 1 was abandoned: ")


def test_a_class_without_a_round_is_waited_for_and_then_named(waiting):
    block = waiting
    block.week(2)
    assert block.reports == []

    block["news"].source.rows[:] = [
        row for row in block["news"].source.rows if row["id"].startswith("2")
    ]
    block.play(number=2)

    reports = {report.slot: report for report in block.reports}
    assert reports[MONDAY + WEEK].missing == ()
    publish_classes(block["travel"].context, [MONDAY])
    reports = {report.slot: report for report in block.reports}
    [missing] = reports[MONDAY].missing
    assert missing.value == "news"
    assert missing.round is None
    assert reports[MONDAY].averages == ()


def test_a_round_of_for_each_whose_monitor_left_stands_for_no_class(block):
    scene = block["news"]
    of = scene.settings.block.model_copy(update={"kind": "for_each", "value": "news"})
    scene.settings = settings(block=of, sample=SAMPLE)
    block.play("news")
    del block.names["news"]

    block.play("travel", "finance")

    [report] = block.reports
    [missing] = report.missing
    assert (missing.value, missing.monitor) == ("news", None)
    assert "config" in missing.missing


def test_windows_stay_in_step_while_classes_come_and_go_and_say_who_did(block):
    block.becomes("travel")
    block.play("travel")
    block.week(2)
    block.becomes(*CLASSES)
    block.play(number=2)
    block.week(3)
    block.becomes("finance", "news")

    block.play("finance", "news", number=3)

    assert [scene.round(2).number for scene in (block["finance"], block["news"])] == [2, 2]
    assert [report.round for report in block.reports] == [1, 2, 3]
    assert [(report.new, report.gone) for report in block.reports] == [
        ((), ()),
        (("finance", "news"), ()),
        ((), ("travel",)),
    ]
    [line] = [
        line for line in report_table(block.reports[2]).lines if "the classes changed" in line
    ]
    assert line == "the classes changed since the previous window: gone travel"
    assert block.overview.report == block.reports[2]


def test_a_window_before_all_others_takes_the_step_before_them(block):
    block.week(2)
    block.play(number=2)
    assert [report.round for report in block.reports] == [1]

    for scene in block.monitors.values():
        assert len([*run.backfill(scene.context, MONDAY - WEEK, MONDAY)]) == 1
        scene.label()

    assert {scene.round(0).slot for scene in block.monitors.values()} == {MONDAY}
    filled = [report for report in block.reports if report.slot == MONDAY]
    assert filled[-1].missing == ()
    assert {report.round for report in filled} == {0}
    versions = [report.version for report in filled]
    assert versions == sorted({*versions})


def test_a_round_counts_for_the_class_that_it_was_opened_for(reported):
    """Also after the config gave its monitor another class of the classifier."""
    reported.week(2)
    scene = reported["news"]
    of = scene.settings.block.model_copy(update={"value": "sport"})
    values = ("travel", "finance", "sport")
    for each in reported.monitors.values():
        own = of if each is scene else each.settings.block
        each.settings = settings(block=own.model_copy(update={"values": values}), sample=SAMPLE)
    reported.names["sport"] = reported.names.pop("news")
    wrong = next(iter(scene.labeler.answers))
    scene.labeler.answers[wrong] = Answer.CANNOT_TELL

    scene.run()

    first, corrected = reported.reports
    assert [row.value for row in corrected.classes] == list(CLASSES)
    assert corrected.missing == ()
    assert corrected.version > first.version


def test_what_a_process_killed_before_it_published_left_is_made_up_for_by_the_next_look(
    reported_twice,
):
    reported, scene = reported_twice, reported_twice["finance"]
    scene.turn(scene.items(1)[0])  # of the old window

    ended = mock.patch("monitor.rounds.run.publish_classes", side_effect=Killed)
    with ended, pytest.raises(Killed):
        scene.run()
    assert len(reported.reports) == 2

    reported["travel"].run()  # any monitor of the block

    again = reported.reports[2:]
    assert [(report.slot, report.round) for report in again] == [(MONDAY, 1)]


def test_a_window_that_fails_keeps_no_other_and_is_tried_again_however_old_it_is(
    block, monkeypatch
):
    block.week(2)
    with monkeypatch.context() as patch:
        patch.setattr("monitor.rounds.run.publish_classes", lambda *_: None)
        patch.setattr("monitor.rounds.run.lost_windows", lambda *_: {})
        block.play()
        block.play(number=2)
    scene = block["travel"]
    scene.now += timedelta(days=300)  # no round takes labels any more
    whole = classes._report

    def fail(stand, *of):
        if stand.slot == MONDAY + WEEK:
            raise ZeroDivisionError
        return whole(stand, *of)

    with monkeypatch.context() as patch:
        patch.setattr(classes, "_report", fail)
        windows = classes.lost_windows(context := scene.context)
        with pytest.raises(ZeroDivisionError):
            classes.publish_lost(context, MONDAY + WEEK, windows[MONDAY + WEEK])
        classes.publish_lost(context, MONDAY, windows[MONDAY])
    assert [report.slot for report in block.reports] == [MONDAY]

    assert [*classes.lost_windows(context)] == [MONDAY + WEEK]
    classes.publish_lost(context, MONDAY + WEEK, windows[MONDAY + WEEK])
    assert [*classes.lost_windows(context)] == []
    assert len(block.reports) == 2


def test_a_state_that_changed_while_it_was_computed_is_left_to_whoever_changed_it(
    waiting, monkeypatch
):
    block, scene = waiting, waiting["news"]
    scene.run(1)
    scene.answer()
    whole = classes._report

    def slow(*of):
        report = whole(*of)
        with scene.database.write() as connection:
            [news] = round_store.find_rounds(connection, "mail-news")
            connection.exec_driver_sql(
                f"update rounds set label_revision = label_revision + 1 where id = {news.id}"
            )
        return report

    monkeypatch.setattr(classes, "_report", slow)
    scene.run()

    assert block.reports == []


def test_a_window_that_a_round_without_a_class_is_in_has_no_averages(block):
    for value in ("finance", "news"):  # the config had them in for_each before
        scene = block[value]
        of = scene.settings.block.model_copy(update={"kind": "for_each"})
        scene.settings = settings(block=of, sample=SAMPLE)

    block.play()

    assert all(scene.round(1).state is RoundState.CLOSED for scene in block.monitors.values())
    assert block.reports == []


def test_a_restated_round_gives_the_block_a_new_report(reported):
    scene = reported["finance"]
    scene.now += timedelta(days=200)  # late labels are over

    restate(scene, 1, read_file=file_with(scene, Answer.POSITIVE))

    first, second = reported.reports
    assert second.version > first.version
    assert second.average("micro", "precision").point > first.average("micro", "precision").point
