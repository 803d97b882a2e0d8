"""Predictions that are late or wrong are waited for; after the grace a round ends and is told."""

from datetime import timedelta
from itertools import pairwise

import pytest

from monitor.domain.errors import SourceRefused, SourceUnavailable
from monitor.domain.settings import Schedule
from monitor.rounds import run
from tests.rounds.played import played
from tests.rounds.scene import MONDAY, WEEK, Scene, settings, week_of_rows

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LONG = {"deadline": timedelta(days=90)}
"""Rounds that are only drawn here, and wait for labels all the while."""
SETTINGS = settings(hooks=("ops",))


def waits(scene, number=None):
    """Run what is due and meet predictions that are waited for; returns what is wrong."""
    with pytest.raises(SourceRefused) as refused:
        scene.run(number)
    return str(refused.value)


def told(scene):
    return scene.rows("select \"key\" from effects where kind = 'notice' and sink = 'ops'")


# The grace


def test_a_window_without_predictions_is_waited_for_and_drawn_when_they_come(scene):
    why = waits(scene, 1)
    waiting = scene.round(1)
    status = scene.overview()
    scene.now += 5 * HOUR
    scene.week(1)
    scene.run()

    assert why == (
        "no predictions from 2025-02-24 06:00 to 2025-03-03 06:00 UTC, and none at all yet (is "
        "the source up to date?)"
    )
    assert (waiting.state, waiting.reason, waiting.first_look_at) == ("open", why, MONDAY)
    assert waiting.deadline is None
    assert status.problems == [f"round 1 waits until 2025-03-05 00:00 UTC: {why}"]
    assert scene.round(1).state == "labeling"
    assert scene.round(1).first_look_at == MONDAY
    assert scene.round(1).deadline == scene.now + timedelta(days=5)  # counts from the draw
    assert told(scene) == []


def test_a_quarter_of_the_window_after_the_first_look_the_round_is_abandoned_and_told_once(scene):
    context = scene.context  # of a service that looks less and less often
    scene.now = MONDAY + 2 * DAY
    for after in (timedelta(0), WEEK / 4 - timedelta(minutes=1)):
        scene.now = MONDAY + 2 * DAY + after
        with pytest.raises(SourceRefused):
            run.run(context)
    for _ in range(2):
        scene.now += timedelta(minutes=1)
        run.run(context)

    assert scene.round(1).first_look_at == MONDAY + 2 * DAY

    assert scene.round(1).state == "abandoned"
    assert "none at all yet" in scene.round(1).reason
    assert len(told(scene)) == 1


@pytest.mark.parametrize(
    ("asked", "hours"),
    [({"schedule": Schedule(cron="0 6 * * *")}, 6), ({"grace": 3 * HOUR}, 3)],
    ids=["a short window", "the config"],
)
def test_a_short_window_is_waited_for_six_hours_and_any_as_long_as_the_config_says(
    database, asked, hours
):
    scene = Scene(database, settings(**asked))
    waits(scene, 1)
    scene.now += hours * HOUR - timedelta(minutes=1)
    waits(scene)
    scene.run(later=timedelta(minutes=1))

    assert scene.round(1).state == "abandoned"


def test_no_round_waits_beyond_the_next_slot(database):
    scene = Scene(database, settings(schedule=Schedule(cron="0 * * * *")))
    waits(scene, 1)
    scene.now += HOUR
    waits(scene)

    assert (scene.round(1).state, scene.round(2).state) == ("abandoned", "open")


def test_a_source_that_is_down_is_waited_for_as_long_as_it_takes(scene):
    scene.source.down = True
    for _ in range(3):
        with pytest.raises(SourceUnavailable):
            scene.run()
        scene.now += 2 * DAY
    waiting = scene.round(1)
    scene.source.down = False
    scene.week(1)
    scene.run()

    assert waiting.state == "open"
    assert "set to be down" in waiting.reason
    assert (scene.round(1).state, scene.round(1).reason) == ("labeling", None)


def test_a_backfill_does_not_wait(scene):
    scene.now = MONDAY + 2 * WEEK
    scene.week(1)
    scene.week(3)
    for _ in run.backfill(scene.context, MONDAY - WEEK):
        pass

    states = [scene.round(number).state for number in (1, 2, 3)]
    assert states == ["labeling", "abandoned", "labeling"]


def test_a_window_that_stops_a_backfill_is_given_up_after_the_grace(scene, monkeypatch):
    scene.now = MONDAY + 2 * WEEK
    scene.week(2)
    scene.week(3)
    read = only_from(MONDAY + WEEK, scene.source.scan)
    monkeypatch.setattr(scene.source, "scan", read)
    with pytest.raises(SourceRefused):
        list(run.backfill(scene.context, MONDAY))
    stopped = scene.round(1)
    scene.now += WEEK / 4 - timedelta(minutes=1)
    with pytest.raises(SourceRefused):
        scene.run()
    before = scene.round(1).state
    scene.run(later=timedelta(minutes=1))

    assert (stopped.state, stopped.first_look_at) == ("open", MONDAY + 2 * WEEK)
    assert (before, scene.round(1).state) == ("open", "abandoned")
    assert scene.round(2).state == "labeling"


# How often a service looks


MINUTES = 2 * 60  # in which it comes to look every quarter of an hour only


def test_a_service_looks_more_rarely_the_longer_it_waits(scene):
    context = scene.context  # those of a service live on from pass to pass
    looks = []
    for minute in range(MINUTES):
        before = scene.source.scans
        scene.now = MONDAY + timedelta(minutes=minute)
        with pytest.raises(SourceRefused, match="none at all yet"):
            run.run(context)
        if scene.source.scans > before:
            looks.append(minute)

    assert looks[:4] == [0, 1, 2, 3]
    assert max(later - look for look, later in pairwise(looks)) == 15
    assert len(looks) < MINUTES / 6


# What is usual


@played
def steady(database):
    """Three rounds were drawn, of 2000 predictions each."""
    scene = Scene(database, settings(hooks=("ops",), **LONG))
    for number in (1, 2, 3):
        scene.draw(number)
    return scene


START = MONDAY + 2 * WEEK
SUSPECT = {
    "lost_traffic": (
        week_of_rows(START, count=900, seed=4)[0],
        "900 predictions from 2025-03-17 06:00 to 2025-03-24 06:00 UTC, where 2000 are usual in "
        "similar windows (are predictions missing?)",
    ),
    "old_rows": (
        [row for row in week_of_rows(START, seed=4)[0] if row["time"] < START + WEEK - DAY],
        "the newest prediction of 2025-03-17 06:00 to 2025-03-24 06:00 UTC is from 2025-03-23 "
        "05:58, 24 h before the window ends, at most 5 min in similar windows (are predictions "
        "missing?)",
    ),
}


@pytest.mark.parametrize("kind", SUSPECT)
def test_a_window_with_less_than_half_the_usual_or_old_rows_is_waited_for_and_drawn_with_a_concern(
    steady, kind
):
    rows, said = SUSPECT[kind]
    steady.source.rows += rows
    why = waits(steady, 4)
    steady.run(later=WEEK / 4)

    assert why == said
    assert steady.round(4).state == "labeling"
    assert steady.concerns(4) == {kind: why}
    assert len(told(steady)) == 1


def test_half_the_usual_rows_are_enough(steady):
    steady.draw(4, count=1000)

    assert steady.round(4).state == "labeling"
    assert steady.concerns(4) == {}


def test_earlier_windows_that_cannot_be_read_any_more_hold_no_round_up(steady, monkeypatch):
    steady.source.rows += SUSPECT["old_rows"][0]
    for name in ("scan", "count"):
        monkeypatch.setattr(steady.source, name, only_from(START, getattr(steady.source, name)))

    steady.run(4)

    assert steady.round(4).state == "labeling"
    assert steady.concerns(4) == {}


def only_from(start, read):
    """Refuse earlier windows, as where somebody has written scores anew since they were drawn."""

    def reading(window, *others):
        if window.start < start:
            message = "no value of column 'score' is a number"
            raise SourceRefused(message)
        return read(window, *others)

    return reading


def test_a_window_that_always_ends_early_is_drawn_at_once(database):
    scene = Scene(database, settings(**LONG))
    for number in (1, 2, 3, 4):
        start = MONDAY + (number - 2) * WEEK
        rows, _ = week_of_rows(start, seed=number)
        scene.source.rows += [row for row in rows if row["time"] < start + WEEK - 2 * DAY]
        scene.run(number)

    assert scene.round(4).state == "labeling"
    assert scene.concerns(4) == {}


@pytest.mark.slow
def test_a_quiet_sunday_is_compared_with_sundays(database):
    daily = settings(schedule=Schedule(cron="0 6 * * *"), **LONG)
    scene = Scene(database, daily)
    concerned = []
    for day in range(1, 4 * 7):
        start = MONDAY + (day - 1) * DAY
        count = 60 if start.weekday() == 6 else 300
        rows, _ = week_of_rows(start, count=count, seed=day)
        scene.source.rows += [
            {**row, "id": f"{day}-{row['id']}", "time": start + (row["time"] - start) / 7}
            for row in rows
        ]
        scene.now = MONDAY + day * DAY
        try:
            scene.run()
        except SourceRefused:
            concerned.append(day)

    assert concerned == [7]  # the first Sunday: none is known yet
