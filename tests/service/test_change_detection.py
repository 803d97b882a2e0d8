"""A monitor is looked at when another look may find something, and else left alone."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import event
from structlog.testing import capture_logs

from monitor.domain.errors import MonitorError
from monitor.domain.label_parts import AssignedLabeler
from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Sample
from monitor.rounds import run
from monitor.service.change_detection import ChangeDetector
from monitor.storage.rounds import round_claims
from monitor.testing import MemoryLabeler
from tests.rounds.played import played
from tests.rounds.scene import Scene, settings

SMALL = settings(sample=Sample(max_labels=12, bands=Bands(flagged=1, passed=1)))


class Watched(MemoryLabeler):
    """A labeler whose answers can be told apart without being read."""

    location = "memory"

    def state(self):
        return str(sorted(self.answers.items()))


class Service:
    """Ticks over some monitors as `serve` does, or as a `run-once` for each tick."""

    config = "as it is"

    def __init__(self, *scenes, restarts=False):
        self.scenes, self.restarts = scenes, restarts
        self.context = {scene.name: scene.context for scene in scenes}
        self.idle = self._started()

    def _started(self):
        configs = dict.fromkeys(self.context, self.config) if self.restarts else None
        return ChangeDetector(self.scenes[0].database, lambda: self.scenes[0].now, configs)

    def tick(self):
        """Look at what needs it; returns the names."""
        if self.restarts:
            self.idle = self._started()
        looks = self.idle.needed(list(self.context.values()))
        for look in looks:
            try:
                run.run(look.context)
            except MonitorError:
                self.idle.record_check(look, well=False)
            else:
                self.idle.record_check(look, well=True)
        if self.restarts:
            self.idle.keep()
        return [look.context.settings.name for look in looks]

    def settle(self):
        """Tick until nothing is left to do; a step that moved something is looked at again."""
        for _ in range(4):
            if not self.tick():
                return
        raise AssertionError(self.tick())


@played
def scene(database):
    """A round whose labels are asked for."""
    scene = Scene(database, SMALL)
    scene.labeler = Watched()
    scene.week(1, count=200)
    scene.run(1)
    return scene


@pytest.fixture(params=[False, True], ids=["one process", "a process each time"])
def service(scene, request):
    service = Service(scene, restarts=request.param)
    service.settle()
    return service


serving = pytest.mark.parametrize("service", [False], indirect=True)
passing = pytest.mark.parametrize("service", [True], indirect=True)


def test_a_round_is_left_alone_until_labels_come_late_or_by_another_process_too(scene, service):
    waiting = scene.round(1).state
    scene.answer()
    new = service.tick(), scene.round(1).state
    service.settle()
    scene.labeler.answers[next(iter(scene.labeler.answers))] = Answer.CANNOT_TELL
    late = service.tick(), scene.round(1).version
    service.settle()
    scene.execute("update rounds set label_revision = label_revision + 1")

    assert waiting == "labeling"
    assert (new, late) == ((["mail"], "closed"), (["mail"], 2))
    assert service.tick() == ["mail"]


@pytest.mark.parametrize(
    ("later", "states"),
    [(timedelta(days=5), ["abandoned"]), (timedelta(days=7), ["abandoned", "open"])],
)
def test_a_deadline_and_a_slot_are_seen_when_they_come(scene, service, later, states):
    scene.now += later - timedelta(minutes=1)
    service.settle()

    scene.now += timedelta(minutes=1)

    assert service.tick() == ["mail"]
    found = scene.rows("select state from rounds order by slot")
    assert [row["state"] for row in found] == states


def test_every_monitor_is_looked_at_once_an_hour_and_when_the_clock_went_back(scene, service):
    scene.now += timedelta(minutes=59)
    before = service.tick()
    scene.now += timedelta(minutes=1)
    hourly = service.tick()
    scene.now -= timedelta(minutes=1)

    assert (before, hourly) == ([], ["mail"])
    assert service.tick() == ["mail"]


def test_a_round_that_another_worker_has_is_looked_at_until_it_is_free(scene, service):
    claim = scene.write(round_claims.claim_round, scene.round(1).id)
    assert claim is not None
    assert service.tick() == service.tick() == ["mail"]
    scene.write(round_claims.release_round, claim)

    service.settle()

    assert service.tick() == []


def test_a_claim_that_ran_out_without_being_given_back_holds_nobody_awake(scene, service):
    assert scene.write(round_claims.claim_round, scene.round(1).id) is not None
    scene.execute(
        "update rounds set claimed_by = 'elsewhere', claimed_until = 1, state = 'closed', "
        "label_revision = 0, estimated_revision = 0"
    )

    service.settle()

    assert scene.rows("select claimed_by from rounds") == [{"claimed_by": "elsewhere"}]
    assert service.tick() == []


def test_a_look_that_met_an_error_is_repeated(scene, service):
    scene.week(2, count=200)
    scene.source.down = True
    scene.now += timedelta(days=7)

    assert service.tick() == service.tick() == service.tick() == ["mail"]


@serving
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
    today.location = "another"
    service.context["mail"] = replace(
        scene.context,
        labeler=today,
        labelers=lambda _: (AssignedLabeler(scene.labeler), AssignedLabeler(today)),
    )
    service.settle()
    before = service.tick()

    scene.answer()

    assert (before, service.tick()) == ([], ["mail"])
    assert scene.round(1).state == "closed"


@serving
def test_as_many_queries_are_made_for_many_idle_monitors_as_for_one(scene, service):
    others = [Scene(scene.database, SMALL, name=f"other-{number}") for number in range(5)]
    for other in others:
        other.labeler = Watched()
        other.week(1, count=200)
        service.context[other.name] = other.context
    service.settle()
    asked = []
    event.listen(
        scene.database.engine, "after_cursor_execute", lambda *found: asked.append(found[2])
    )

    looked = service.tick()

    assert looked == []
    assert len([one for one in asked if one.lower().startswith("select")]) == 2


@passing
def test_the_next_process_looks_after_another_config_or_format_of_kept_looks(scene, service):
    service.config = "something else"
    of_config = service.tick()
    service.settle()
    scene.execute("update labeler_cursors set cursor = '[1]'")

    assert of_config == service.tick() == ["mail"]


@passing
def test_processes_that_keep_the_same_look_at_once_do_not_disturb_each_other(scene, service):
    scene.now += timedelta(hours=1)
    both = [
        ChangeDetector(scene.database, lambda: scene.now, {"mail": "as it is"}) for _ in range(2)
    ]
    for idle in both:
        for look in idle.needed([scene.context]):
            idle.record_check(look, well=True)

    for idle in both:
        idle.keep()

    assert service.tick() == []


class BreaksWhenAsked(MemoryLabeler):
    """A labeler with a bug outside of what a round asks it."""

    def __init__(self, where):
        super().__init__()
        self.where = where

    @property
    def location(self):
        return self._unless("location") or "memory"

    def state(self):
        return self._unless("state") or "as it was"

    def _unless(self, where):
        if where == self.where:
            message = "a bug"
            raise KeyError(message)


@pytest.mark.parametrize("where", ["state", "location"])
def test_a_labeler_with_a_bug_keeps_no_other_monitor_from_its_look(database, where):
    broken, well = (Scene(database, SMALL, name=name) for name in ("broken", "well"))
    broken.labeler = BreaksWhenAsked(where)
    idle = ChangeDetector(database, lambda: well.now)

    with capture_logs() as logs:
        looks = idle.needed([broken.context, well.context])

    assert [look.context.settings.name for look in looks] == ["broken", "well"]
    assert [line["log_level"] for line in logs] == ["error"]
