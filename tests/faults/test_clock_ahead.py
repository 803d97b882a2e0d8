"""R7: a clock that was days ahead and is right again holds up no notice and hides no round."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from monitor.domain.errors import DeliveryFailed, InputRefused
from monitor.domain.model import Answer, EffectKind
from monitor.rounds.delivery import deliver
from monitor.rounds.opening import due
from monitor.service.web.metrics import Own, exposition
from monitor.storage.database import clock_ms
from monitor.storage.tables import effects, rounds
from tests.rounds.scene import LIMITS, MONDAY, REFERENCE, WEEK, Scene, settings
from tests.rounds.sinks import Sink
from tests.service.web.serving import samples
from tests.storage.payloads import PAYLOADS
from tests.storage.rows import add_effect, add_round, claimed, claimed_effect

AHEAD = timedelta(days=10)
ELSEWHERE = "another-machine/17/1"


@pytest.fixture
def hook():
    return Sink()


def deliver_at(database, hook, now):
    deliver(database, {"ops": hook}, lambda: now)


@pytest.fixture
def scene(database):
    """Two good rounds, then one that fires an alert by a clock that is ten days ahead."""
    asked = settings(limits=LIMITS, reference=REFERENCE, hooks=("ops",), model="models:/mail/7")
    scene = Scene(database, asked)
    for number in (1, 2):
        scene.play(number)
    scene.now += AHEAD
    scene.week(3, precision=0.1)
    scene.run()
    scene.label()
    assert scene.round(3).slot == MONDAY + 2 * WEEK > scene.now - AHEAD
    return scene


@pytest.mark.parametrize(
    "error",
    [
        DeliveryFailed("it does not answer"),
        DeliveryFailed("it is gone", lasting=True),
        DeliveryFailed("busy", retry_after=timedelta(days=3)),
    ],
)
def test_a_notice_that_was_put_off_goes_out_at_the_next_pass(database, hook, error):
    add_effect(database, add_round(database), "notice")
    hook.error = error
    for tries in range(5):
        deliver_at(database, hook, MONDAY + AHEAD + tries * timedelta(minutes=20))

    hook.error = None
    deliver_at(database, hook, MONDAY + timedelta(hours=2))

    assert hook.got == ["notice"]


def test_a_sink_that_takes_nothing_is_told_though_its_turn_began_in_the_future(scene, hook):
    hook.error = DeliveryFailed("it does not answer")
    log = Sink()
    deliver(scene.database, {"ops": hook, "log": log}, lambda: scene.now)
    scene.now -= AHEAD

    for _ in range(30):
        deliver(scene.database, {"ops": hook, "log": log}, lambda: scene.now)
        scene.now += timedelta(hours=1)

    assert "delivery.dead" in log.events()


def test_the_newest_estimate_on_show_and_on_the_model_is_one_whose_time_has_come(scene):
    scene.now -= AHEAD

    found = scene.overview()
    text = exposition(scene.database, ["mail"], Own(), scene.now)

    assert (found.last_round, found.last_slot) == (2, MONDAY + WEEK)
    assert found.problems == []
    assert (
        "round 3, due 2025-03-17 06:00 UTC, lies ahead of the clock, which was ahead itself when "
        "it was opened"
    ) in found.notes
    slot = samples(text)["pr_monitor_estimate_slot_timestamp_seconds", ("monitor", "mail")]
    assert slot == (MONDAY + WEEK).timestamp()
    [item] = scene.rows(
        "select i.id from items i where i.round_id = :id order by i.id limit 1",
        id=scene.round(2).id,
    )
    scene.labeler.answers[item["id"]] = Answer.CANNOT_TELL
    scene.run()
    tagged = scene.rows(
        "select r.number from effects e join rounds r on r.id = e.round_id where e.kind = :kind "
        "order by e.id desc limit 1",
        kind=EffectKind.MODEL_TAGS,
    )
    assert scene.round(2).version == 2
    assert tagged == [{"number": 2}]


def test_a_round_ahead_that_was_abandoned_makes_nothing_stale_and_no_slot_is_asked_for(database):
    scene = Scene(database, settings(grace=timedelta(0)))
    scene.play(1)
    scene.now += AHEAD
    scene.week(2)
    scene.run()
    scene.now += timedelta(days=6)
    scene.run()

    scene.now = MONDAY + timedelta(days=1)
    scene.run()
    found = scene.overview()

    assert scene.round(2).state == "abandoned"
    assert (found.status, found.problems) == ("learning", [])


def test_a_claim_that_a_clock_ahead_made_does_not_last_until_then(database):
    round_id = add_round(database)
    add_effect(database, round_id, "notice")
    days = round(AHEAD.total_seconds() * 1000)
    assert claimed(database, round_id)
    claimed_effect(database, 1)
    with database.write() as connection:
        for table in (rounds, effects):
            connection.execute(
                update(table).values(claimed_by=ELSEWHERE, claimed_until=clock_ms() + days)
            )

    assert claimed(database, round_id)
    claimed_effect(database, 1)


def test_what_is_odd_is_on_the_page_of_the_model_though_a_round_lies_ahead(database):
    scene = Scene(database, settings(limits=LIMITS, reference=REFERENCE, model="models:/mail/7"))
    for number in (1, 2, 3, 4):
        scene.week(number, **({"share": 0.004} if number == 3 else {}))
    for number in (1, 2):
        scene.run(number)
        scene.label()
    scene.now += 2 * WEEK  # a clock that is ahead draws round 4
    scene.run()
    scene.now -= WEEK

    due.open_slot(scene.context, scene.now, backfill=False)
    scene.run()

    assert scene.round(4).state == scene.round(3).state == "labeling"
    tags = scene.rows(f"{PAYLOADS} where e.kind = 'model_tags' order by e.id")
    assert tags[-1]["payload"]["status"] == "attention"
    assert scene.overview().status == "attention"


def test_a_round_opened_by_a_clock_ahead_is_not_drawn_before_its_window_is_over(database):
    scene = Scene(database, settings())
    for number in (1, 2):
        scene.play(number)
    scene.now += AHEAD
    with pytest.raises(InputRefused):
        scene.run()
    scene.now -= AHEAD
    scene.week(3)

    scene.run()
    early = scene.round(3)
    scene.now = MONDAY + 2 * WEEK
    scene.run()

    assert (early.state, early.slot) == ("open", MONDAY + 2 * WEEK)
    assert scene.round(3).state == "labeling"
