"""From when on slots are due: a monitor's first scheduled round decides, no other does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from monitor.domain.settings import Schedule
from monitor.rounds.opening import due
from monitor.rounds.reporting.enqueue import notify
from monitor.rounds.reporting.notices import abandoned_notice
from tests.rounds.scene import Scene, settings

DAY = timedelta(days=1)
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 10, tzinfo=UTC)


@pytest.fixture
def scene(database):
    return Scene(database, settings(schedule=Schedule(cron="0 0 * * *"), hooks=("ops",)), now=NOW)


def states(scene):
    query = "select number, state, settings from rounds order by slot"
    return [(row["number"], row["state"]) for row in scene.rows(query)]


@pytest.mark.parametrize("backfill", [True, False])
def test_an_old_slot_run_first_makes_no_slot_since_then_due(scene, backfill):
    due.open_slot(scene.context, MIDNIGHT - 4000 * DAY, backfill=backfill)

    due.open_due(scene.context)

    assert states(scene) == [(1, "open"), (4001, "open")]


def test_slots_are_due_from_the_first_scheduled_round_on(scene):
    due.open_slot(scene.context, MIDNIGHT - 30 * DAY, backfill=True)
    due.open_due(scene.context)
    scene.now += 3 * DAY

    due.open_due(scene.context)

    assert states(scene)[1:] == [(31, "open"), (32, "skipped"), (33, "skipped"), (34, "open")]


def test_a_round_opened_by_hand_hides_no_slot_missed_before_it_and_is_not_opened_again(scene):
    due.open_due(scene.context)
    scene.now += 3 * DAY
    due.open_slot(scene.context, MIDNIGHT + 3 * DAY, backfill=False)

    for _ in range(2):
        due.open_due(scene.context)

    assert states(scene) == [(1, "open"), (2, "skipped"), (3, "skipped"), (4, "open")]


def test_a_round_opened_by_hand_tells_the_hooks_and_a_backfilled_one_does_not(scene):
    told = {}
    for backfill in (False, True):
        slot = MIDNIGHT - backfill * DAY
        round_id = due.open_slot(scene.context, slot, backfill=backfill)
        found = next(r for r in (scene.round(n) for n in numbers(scene)) if r.id == round_id)
        told[backfill] = sinks_told(scene, found)

    assert told == {False: ["log", "ops"], True: ["log"]}


def numbers(scene):
    return [row["number"] for row in scene.rows("select number from rounds")]


def sinks_told(scene, found):
    notice = abandoned_notice(
        found, store_id="store", key=f"round {found.id}", reason="no reason", at=scene.now
    )
    with scene.database.write() as connection:
        notify(connection, found, notice, scene.now)
    rows = scene.rows("select sink from effects where round_id = :id order by sink", id=found.id)
    return [row["sink"] for row in rows]
