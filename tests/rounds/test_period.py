"""The report of a period: which rounds count, and what it says of the others."""

from dataclasses import replace
from datetime import timedelta
from itertools import chain

import pytest

from monitor.domain.alerting import AlertNote, AlertState
from monitor.domain.errors import InputRefused
from monitor.domain.model import Answer
from monitor.domain.period import parse_period
from monitor.domain.period_report import PeriodReport
from monitor.domain.settings import Limits, Schedule
from monitor.presentation.parts.segments import SEGMENTS
from monitor.presentation.periods import period_sections, period_text
from monitor.rounds.period import read_period
from monitor.rounds.reporting.alert_notes import note_alert
from tests.rounds.played import played
from tests.rounds.restatements import file_with, restate, scene_of
from tests.rounds.scene import LIMITS, MONDAY, Scene, segmented, settings

ALL = "2025-03"
"""Rounds 1 to 5: their windows end each Monday of March at 6:00, from the 3rd to the 31st."""


@played
def fired(database):
    """Two closed rounds, of which the second fires on precision; the third is half labeled."""
    scene = Scene(database, settings(limits=LIMITS, labels=400, hooks=("ops",)))
    scene.play(1, precision=0.85, recall=0.6)
    scene.play(2, precision=0.3, recall=0.6)
    scene.draw(3)
    scene.answer(share=0.5)
    scene.run()
    return scene


def period_of(scene, name=ALL) -> PeriodReport:
    monitor = scene.context.settings
    with scene.database.read() as connection:
        return read_period(connection, monitor, name, parse_period(name), scene.now)


def section(report, title):
    return next(each for each in period_sections(report) if each.title == title)


def texts(report):
    """All lines and cells of a report."""
    sections = period_sections(report)
    cells = [row for each in sections for table in each.tables for row in table.rows]
    return [*chain.from_iterable(each.lines for each in sections), *chain.from_iterable(cells)]


def test_a_round_counts_where_its_window_ends_and_not_where_that_is_the_first_moment(fired):
    ends = ["2025-03-03", "2025-03-04..2025-03-10", "2025-03-03..2025-03-10"]

    assert [[each.round for each in period_of(fired, name).rounds] for name in ends] == [
        [1],
        [2],
        [1, 2],
    ]
    lines = section(period_of(fired, "2025-03-04..2025-03-10"), "Rounds").lines
    assert "the window of round 2 begins before the period, 2025-03-03 06:00, and counts whole" in (
        lines
    )
    assert "the window of round 3 begins in the period and ends after it; not counted" in lines


def test_days_are_those_of_the_schedules_time_zone(database):
    daily = Schedule(cron="0 0 * * MON", time_zone="Pacific/Auckland")
    scene = Scene(database, settings(schedule=daily))
    scene.now = MONDAY - timedelta(hours=6)
    scene.week(1)
    scene.run()
    scene.label()

    with pytest.raises(InputRefused, match="no round of mail ends its window in 2025-03-03"):
        period_of(scene, "2025-03-03")
    report = period_of(scene, "2025-03-02")
    assert report.time_zone == "Pacific/Auckland"
    assert ", days of Pacific/Auckland, not over yet; numbers as of" in period_text(
        report.model_copy(update={"made_at": report.end - timedelta(hours=1)})
    )


def test_open_abandoned_and_skipped_rounds_are_named_and_not_counted(fired):
    fired.now += timedelta(days=6)
    fired.week(5)
    fired.run(5)

    report = period_of(fired)
    lines = section(report, "Rounds").lines
    assert [each.round for each in report.rounds] == [1, 2, 3]
    assert any(line.startswith("round 5 is labeling and not counted") for line in lines)
    assert "1 skipped round without an estimate" in lines
    assert "round 3: partial" not in lines
    remarks = [row[-1] for row in section(report, "Rounds").tables[0].rows]
    assert remarks == ["-", "alert on precision", "partial"]


def test_a_remark_says_that_its_alert_was_taken_back_as_the_figure_has_none(fired):
    report = period_of(fired)
    revised = [replace(alert, state=AlertState.REVISED) for alert in report.alerts]
    table = section(report.model_copy(update={"alerts": revised}), "Rounds").tables[0]

    assert [row[-1] for row in table.rows] == ["-", "alert on precision (taken back)"]


def test_where_no_round_has_closed_it_is_not_said_where_labels_come_from(fired):
    report = period_of(fired, "2025-03-17")

    assert [each.state for each in report.uncounted] == ["labeling"]
    [line] = section(report, "What is measured").lines
    assert line.startswith("precision is the share")


def test_an_alert_is_in_each_period_in_which_it_was_open_with_what_was_done(fired):
    [alert] = [each for each in fired.alerts() if each.metric == "precision"]
    fired.write(note_alert, alert, AlertNote(fired.now, "ada", "cleaned the lens"))
    during = section(period_of(fired), "Alerts and what was done").tables[0].rows
    after = period_of(fired, "2025-03-11..2025-03-17")
    fired.end_alert(alert)
    fired.now += timedelta(days=6)
    fired.week(5)
    fired.run(5)

    assert during[0][2:] == [
        "still open",
        f"note of {fired.now:2025-03-17} by ada: cleaned the lens",
    ]
    assert [each.id for each in after.alerts] == [alert.id]
    assert period_of(fired, "2025-03-24..2025-03-31").alerts == []


def test_a_restated_round_shows_what_it_was(database):
    scene = scene_of(database, after=2)
    scene.run()
    for _ in range(2):
        scene.label()
    before = scene.round_report(1).shown("precision", "pooled")
    restate(scene, 1, read_file=file_with(scene, Answer.NEGATIVE))

    report = period_of(scene)
    [line] = [text for text in texts(report) if text.startswith("round 1: restated")]
    assert f"before: precision {before.point:.2f}" in line
    assert "version 2, restated" in [row[-1] for row in section(report, "Rounds").tables[0].rows]


def test_changed_limits_and_another_model_version_are_named_with_their_rounds(fired):
    fired.label()
    fired.settings = settings(limits=Limits.model_validate({"precision": 0.6}), labels=400)
    fired.play(4, version="8")

    lines = section(period_of(fired), "Changes").lines
    assert "round 4: limits.precision.at_least 0.7 -> 0.6" in lines
    assert any(line.startswith("round 4: begins a new history (model version") for line in lines)
    assert not any(line.startswith(("round 1:", "round 2:")) for line in lines)


def test_people_count_while_one_of_their_answers_stands(database):
    scene = segmented(database, columns=["country"], overlap=0.2)
    scene.week(1)
    for index, row in enumerate(scene.source.rows):
        row["country"] = "CZ" if index % 3 else "SK"
    scene.run(1)
    scene.answer()
    for task in scene.tasks:
        if task.slot == 2:
            scene.labeler.second_answers[task.item_id] = scene.truth[task.item_id]
    scene.run()
    report = period_of(scene)
    restate(scene, without=scene.labeler.second_annotator)

    assert "answers of 2 people count" in section(report, "What is measured").lines
    assert any(line.startswith("agreement, round 1: 2 people") for line in texts(report))
    assert "answers of 1 person count" in section(period_of(scene), "What is measured").lines
    [table] = section(report, "Segments").tables
    rows = {row.value: row for row in SEGMENTS.of(report.rounds[0]) if row.metric == "recall"}
    assert {row[0] for row in table.rows} == rows.keys() == {"CZ", "SK"}
    for row in table.rows:
        assert row[-1] == f"{row[-2]}, round 1"
