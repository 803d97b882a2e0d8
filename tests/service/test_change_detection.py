"""A monitor is looked at when another look may find something, and else left alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import event, text, update
from structlog.testing import capture_logs

from monitor.domain.errors import MonitorError
from monitor.domain.model import Answer
from monitor.rounds import run
from monitor.service.change_detection import Idle
from monitor.storage.rounds import round_claims
from monitor.storage.tables import rounds, strata
from monitor.testing import MemoryLabeler
from tests.rounds.scene import Scene, settings


class Watched(MemoryLabeler):
    """A labeler whose answers can be told apart without being read."""

    place = "memory"

    def state(self):
        return str(sorted(self.answers.items()))


class Service:
    """Ticks over some monitors as the service does."""

    def __init__(self, *scenes):
        self.scenes = scenes
        self.context = {scene.name: scene.context for scene in scenes}
        self.idle = Idle(scenes[0].database, lambda: scenes[0].now)

    def tick(self):
        """Look at whatever needs it; returns the names."""
        looks = self.idle.needed(list(self.context.values()))
        for look in looks:
            try:
                run.run(look.context)
            except MonitorError:
                self.idle.record_check(look, well=False)
            else:
                self.idle.record_check(look, well=True)
        return [look.context.settings.name for look in looks]

    def settle(self):
        """Tick until nothing is left to do; a step that moved something is looked at again."""
        for _ in range(4):
            if not self.tick():
                return
        raise AssertionError(self.tick())


@pytest.fixture
def scene(database):
    scene = Scene(database, settings())
    scene.labeler = Watched()
    scene.week(1)
    return scene


@pytest.fixture
def service(scene):
    service = Service(scene)
    service.settle()
    return service


def test_a_round_that_waits_for_labels_is_left_alone(scene, service):
    assert scene.round(1).state == "labeling"
    assert service.tick() == []


def test_new_labels_are_taken_in(scene, service):
    scene.answer()

    assert service.tick() == ["mail"]
    assert scene.round(1).state == "closed"


def test_a_closed_round_is_left_alone_until_late_labels_come(scene, service):
    scene.answer()
    service.settle()
    one = next(iter(scene.labeler.answers))
    scene.labeler.answers[one] = Answer.CANNOT_TELL

    assert service.tick() == ["mail"]
    assert scene.round(1).version == 2


def test_labels_that_another_process_stored_are_seen(scene, service):
    with scene.database.write() as connection:
        connection.execute(text("update rounds set label_revision = label_revision + 1"))

    assert service.tick() == ["mail"]


def test_a_slot_that_comes_is_seen(scene, service):
    scene.now += timedelta(days=7)

    assert service.tick() == ["mail"]
    assert scene.round(2).state in {"open", "abandoned"}


def test_a_deadline_that_passes_is_seen(scene, service):
    scene.now += timedelta(days=5)

    assert service.tick() == ["mail"]
    assert scene.round(1).state == "abandoned"


def test_the_time_at_which_a_second_wave_goes_out_is_seen(scene, service):
    late = scene.now + timedelta(hours=20)
    with scene.database.write() as connection:
        connection.execute(update(rounds).values(second_wave_at=late))
        connection.execute(update(strata).values(first_wave=10))
    service.settle()
    scene.now = late - timedelta(minutes=1)
    service.settle()

    scene.now = late

    assert service.tick() == ["mail"]


def test_labels_of_a_second_wave_that_are_there_already_are_looked_for_once_it_is_out(
    scene, service
):
    late = scene.now + timedelta(hours=20)
    with scene.database.write() as connection:
        connection.execute(update(rounds).values(second_wave_at=late))
        connection.execute(update(strata).values(first_wave=10))
    service.settle()
    scene.now = late

    ticks = [service.tick() for _ in range(3)]

    assert ticks == [["mail"], ["mail"], []]


def test_a_round_that_another_worker_has_is_looked_at_until_it_is_free(scene, service):
    with scene.database.write() as connection:
        claim = round_claims.claim_round(connection, scene.round(1).id)
    assert claim is not None
    assert service.tick() == service.tick() == ["mail"]
    with scene.database.write() as connection:
        round_claims.release_round(connection, claim)

    service.settle()

    assert service.tick() == []


def test_a_claim_that_ran_out_without_being_given_back_holds_nobody_awake(scene, service):
    with scene.database.write() as connection:
        assert round_claims.claim_round(connection, scene.round(1).id) is not None
    with scene.database.write() as connection:
        connection.execute(text("update rounds set claimed_by = 'elsewhere', claimed_until = 1"))
        connection.execute(text("update rounds set state = 'closed', label_revision = 0"))
        connection.execute(text("update rounds set estimated_revision = 0"))

    service.settle()

    assert scene.rows("select claimed_by from rounds") == [{"claimed_by": "elsewhere"}]
    assert service.tick() == []


def test_a_look_that_met_an_error_is_repeated(scene, service):
    scene.week(2)
    scene.source.down = True
    scene.now += timedelta(days=7)

    assert service.tick() == service.tick() == service.tick() == ["mail"]


def test_every_monitor_is_looked_at_once_an_hour(scene, service):
    scene.now += timedelta(minutes=59)
    before = service.tick()
    scene.now += timedelta(minutes=1)

    assert (before, service.tick()) == ([], ["mail"])


def test_a_clock_that_is_set_back_is_no_reason_to_wait(scene, service):
    scene.now -= timedelta(minutes=1)

    assert service.tick() == ["mail"]


def test_new_settings_are_a_reason_to_look(scene, service):
    service.context["mail"] = scene.context

    assert service.tick() == ["mail"]


def test_a_labeler_that_cannot_be_watched_is_always_asked(scene, service):
    scene.labeler = MemoryLabeler()
    service.context["mail"] = scene.context
    service.tick()

    assert service.tick() == ["mail"]


def test_news_at_the_place_that_a_round_was_opened_with_is_a_reason_to_look(scene, service):
    today = Watched()
    today.place = "another"
    service.context["mail"] = replace(
        scene.context, labeler=today, labelers=lambda _: (scene.labeler, today)
    )
    service.settle()
    before = service.tick()

    scene.answer()

    assert (before, service.tick()) == ([], ["mail"])
    assert scene.round(1).state == "closed"


def test_as_many_queries_are_made_for_many_idle_monitors_as_for_one(scene, service):
    others = [Scene(scene.database, settings(), name=f"other-{number}") for number in range(5)]
    for other in others:
        other.labeler = Watched()
        other.week(1)
        service.context[other.name] = other.context
    service.settle()
    asked = []
    event.listen(
        scene.database.engine, "after_cursor_execute", lambda *found: asked.append(found[2])
    )

    looked = service.tick()

    assert looked == []
    assert len([one for one in asked if one.lower().startswith("select")]) == 2


def another_process(scene, config="as it is"):
    """Look as `run-once` does; returns whether it looked."""
    idle = Idle(scene.database, lambda: scene.now, {scene.name: config})
    looks = idle.needed([scene.context])
    for look in looks:
        try:
            run.run(look.context)
        except MonitorError:
            idle.record_check(look, well=False)
        else:
            idle.record_check(look, well=True)
    idle.keep()
    return bool(looks)


@pytest.fixture
def settled(scene):
    for _ in range(4):
        if not another_process(scene):
            return scene
    raise AssertionError(scene.round(1))


def test_what_one_process_looked_at_the_next_one_leaves_alone(settled):
    settled.now += timedelta(minutes=59)

    assert not another_process(settled)


def test_the_next_process_sees_new_labels_late_ones_and_those_that_others_stored(settled):
    settled.answer()
    closed = another_process(settled) and settled.round(1).state
    while another_process(settled):
        pass
    settled.labeler.answers[next(iter(settled.labeler.answers))] = Answer.CANNOT_TELL
    late = another_process(settled) and settled.round(1).version
    while another_process(settled):
        pass
    with settled.database.write() as connection:
        connection.execute(text("update rounds set label_revision = label_revision + 1"))

    assert (closed, late) == ("closed", 2)
    assert another_process(settled)


@pytest.mark.parametrize("later", [{"hours": 1}, {"days": 5}, {"days": 7}, {"minutes": -1}])
def test_the_next_process_looks_after_an_hour_at_deadlines_at_slots_and_if_the_clock_went_back(
    settled, later
):
    settled.now += timedelta(**later)

    assert another_process(settled)


def test_the_next_process_looks_if_the_config_says_something_else(settled):
    assert another_process(settled, "something else")


def test_the_next_process_looks_again_where_the_last_one_met_an_error(settled):
    settled.week(2)
    settled.source.down = True
    settled.now += timedelta(days=7)

    assert another_process(settled)
    assert another_process(settled)


def test_the_next_process_looks_at_a_round_that_another_worker_has(settled):
    with settled.database.write() as connection:
        assert round_claims.claim_round(connection, settled.round(1).id) is not None

    assert another_process(settled)


def test_the_next_process_asks_a_labeler_that_cannot_be_watched(settled):
    settled.labeler = MemoryLabeler()

    assert another_process(settled)
    assert another_process(settled)


def test_a_look_that_another_version_kept_in_its_own_way_counts_for_nothing(settled):
    with settled.database.write() as connection:
        connection.execute(text("update labeler_cursors set cursor = '[1]'"))

    assert another_process(settled)


def test_processes_that_keep_the_same_look_at_once_do_not_disturb_each_other(settled):
    settled.now += timedelta(hours=1)
    both = [Idle(settled.database, lambda: settled.now, {"mail": "as it is"}) for _ in range(2)]
    for idle in both:
        for look in idle.needed([settled.context]):
            idle.record_check(look, well=True)

    for idle in both:
        idle.keep()

    assert not another_process(settled)


class BreaksWhenAsked(MemoryLabeler):
    """A labeler with a bug outside of what a round asks it."""

    def __init__(self, where):
        super().__init__()
        self.where = where

    @property
    def place(self):
        return self._unless("place") or "memory"

    @property
    def reading(self):
        return self._unless("reading") or "memory"

    def expect(self, *_):
        pass

    def state(self):
        return self._unless("state") or "as it was"

    def _unless(self, where):
        if where == self.where:
            message = "a bug"
            raise KeyError(message)


@pytest.mark.parametrize("where", ["state", "place", "reading"])
def test_a_labeler_with_a_bug_keeps_no_other_monitor_from_its_look(database, where):
    broken, well = (Scene(database, settings(), name=name) for name in ("broken", "well"))
    broken.labeler = BreaksWhenAsked(where)
    idle = Idle(database, lambda: well.now)

    with capture_logs() as logs:
        looks = idle.needed([broken.context, well.context])
        idle.prefetcher(looks).before("well")

    assert [look.context.settings.name for look in looks] == ["broken", "well"]
    assert [line["log_level"] for line in logs] == ["error"]
