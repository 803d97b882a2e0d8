"""What a restored store records as lost, case by case; `tests/test_restored.py` has the story."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from sqlalchemy import delete

from monitor.domain.errors import ConfigRefused, DeliveryFailed, StoreUnavailable
from monitor.domain.model import ShownRun
from monitor.rounds import run
from monitor.rounds.opening import due
from monitor.rounds.opening.due import open_slot, record_missed, why_it_stays
from monitor.rounds.restore import reconcile
from monitor.storage.tables import metadata, rounds
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, MONDAY, WEEK, Scene, settings


@dataclass
class Runs:
    """MLflow's side: runs with their reports, and what was recorded in them."""

    shown: list[ShownRun] = field(default_factory=list)
    reports: dict[str, dict[str, object]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    down: bool = False

    def of(self, number, *, version=1, state="closed", alerts=(), at=None):
        """Let MLflow show a run of a round."""
        run = ShownRun(f"run{number}", at or slot(number), version, state, live=True, number=number)
        self.shown.append(replace(run, page=f"http://mlflow/{run.run_id}"))
        self.reports[run.run_id] = {"alerts": list(alerts)}

    def find(self, *_):
        self._answer()
        return sorted(self.shown, key=lambda run: (run.slot, run.version))

    def newest_slot(self, *_):
        self._answer()
        return max((run.slot for run in self.shown if run.live), default=None)

    def report(self, run):
        return self.reports.get(run.run_id)

    def tag(self, run, restored):
        self.tags[run.run_id] = restored

    def _answer(self):
        if self.down:
            message = "MLflow does not answer"
            raise DeliveryFailed(message)


def slot(number):
    return MONDAY + (number - 1) * WEEK


@played
def scene(database):
    """A monitor whose store knows round 1 only, though three more came due."""
    scene = Restored(database, settings(limits=LIMITS, labels=100, hooks=("ops",)))
    scene.play(1)
    for number in range(2, 5):
        scene.week(number)
    scene.now = slot(4) + timedelta(hours=1)
    return scene


@pytest.fixture
def runs(scene):
    return scene.runs


class Restored(Scene):
    """A monitor whose rounds MLflow shows."""

    def __post_init__(self):
        super().__post_init__()
        self.runs = Runs()

    @property
    def context(self):
        return replace(super().context, runs=self.runs)

    def restored(self):
        return reconcile(self.context, self.runs)

    def states(self):
        return [(row["number"], row["state"]) for row in self.rows(
            "select number, state from rounds order by slot")]  # fmt: skip


def test_rounds_that_mlflow_alone_has_are_recorded_with_their_links_and_never_repeated(scene, runs):
    for number in (2, 3):
        runs.of(number)

    found = scene.restored()
    again = scene.restored()
    scene.run()

    assert [(each.number, each.slot, str(each.state)) for each in found.lost] == [
        (2, slot(2), "skipped"),
        (3, slot(3), "skipped"),
    ]
    assert [each.reason.endswith(f"(http://mlflow/run{each.number})") for each in found.lost] == [
        True,
        True,
    ]
    assert (again.lost, sorted(runs.tags)) == ((), ["run2", "run3"])
    assert scene.states() == [(1, "closed"), (2, "skipped"), (3, "skipped"), (4, "labeling")]
    for backfill in (True, False):
        assert open_slot(scene.context, slot(2), backfill=backfill) is None
    assert "is lost" in why_it_stays(scene.context, slot(2))


def test_numbers_go_on_above_the_highest_that_mlflow_shows_also_of_another_schedule(scene, runs):
    runs.of(7, at=slot(2) + timedelta(hours=5))

    scene.restored()
    scene.run()

    numbers = [number for number, _ in scene.states()]
    assert numbers[:2] == [1, 7]
    assert all(number > 7 for number in numbers[2:])


@pytest.mark.parametrize("is_answered", [True, False])
def test_versions_go_on_above_the_highest_that_mlflow_shows(database, is_answered):
    scene = Restored(database, settings(limits=LIMITS))
    scene.draw(1)
    if is_answered:
        scene.label()
    scene.runs.of(1, version=4)

    [(behind, shown)] = scene.restored().behind
    if is_answered:
        scene.turn(scene.items(1)[0])
        scene.run()
    else:
        scene.label()

    assert (behind.number, shown) == (1, 4)
    assert scene.round(1).version == 5
    latest = scene.rows(
        "select max(version) as v from evidence union select max(version) from counts"
    )
    assert [row["v"] for row in latest] == [5]
    own = "version 1" if is_answered else "no version"
    assert f"a backup that has {own}; a new version follows" in scene.runs.tags["run1"]


def test_skips_that_were_recorded_while_mlflow_was_down_are_lost_too(scene, runs):
    runs.of(2)
    runs.of(3, version=2)
    runs.down = True
    scene.run()
    runs.down = False
    before = scene.states()

    found = scene.restored()

    assert before[1:] == [(2, "skipped"), (3, "skipped"), (4, "labeling")]
    assert [each.number for each in found.lost] == [2, 3]
    assert scene.states() == before
    assert "MLflow alone has its numbers" in scene.round(3).reason


def test_a_slot_that_mlflow_shows_and_the_store_does_not_know_is_not_skipped(scene, runs):
    runs.of(3)

    with pytest.raises(ConfigRefused, match=r"due 2025-03-17 06:00 UTC .*pr-monitor db restored"):
        scene.run()
    refused = scene.states()
    problems = scene.overview().problems
    scene.restored()
    after = scene.overview().problems

    assert refused == [(1, "closed")]
    assert any("run: pr-monitor db restored" in problem for problem in problems)
    assert not any("pr-monitor db restored" in each for each in after)


def test_a_missing_report_leaves_unknown_alerts_to_people(scene, runs):
    runs.of(3)
    runs.reports.clear()

    assert scene.restored().alerts is None


def test_an_unknown_alert_ends_for_the_hooks_once_however_often_it_is_repeated(scene, runs):
    alert = {"id": "a1", "metric": "recall", "side": "at_least", "limit": 0.4}
    runs.of(3, alerts=[alert | {"state": "firing", "fired_in_round": 2}])

    first = scene.restored()
    scene.restored()

    assert [alert.id for alert in first.alerts] == ["a1"]
    told = scene.rows(
        "select sink from effects where cast(payload as text) like '%alert.resolved%' order by id"
    )
    assert [row["sink"] for row in told] == ["log", "ops"]


def test_a_round_abandoned_here_and_repeated_since_is_lost(scene, runs):
    scene.settings = scene.settings.model_copy(update={"grace": timedelta(0)})
    scene.source.rows = []
    scene.run()
    assert scene.states()[-1] == (4, "abandoned")
    runs.of(4, version=2)

    [lost] = scene.restored().lost

    assert (lost.number, str(lost.state)) == (4, "abandoned")
    assert open_slot(scene.context, slot(4), backfill=False) is None


def test_a_round_that_both_know_as_abandoned_is_not_lost(scene, runs):
    scene.settings = scene.settings.model_copy(update={"grace": timedelta(0)})
    scene.source.rows = []
    scene.run()
    reported = "select version from reports where round_id = :id"
    [version] = [row["version"] for row in scene.rows(reported, id=scene.round(4).id)]
    runs.of(4, version=version, state="abandoned")
    reason = scene.round(4).reason

    found = scene.restored()

    assert (version, found.lost, found.behind, runs.tags) == (1, (), (), {})
    assert scene.round(4).reason == reason


def test_where_nothing_is_lost_nothing_changes(scene, runs):
    record_missed(scene.context, [slot(2), slot(3)], slot(4))
    scene.run()
    runs.of(1)
    before = scene.rows("select * from rounds order by id")

    found = scene.restored()

    assert (found.lost, found.behind, found.alerts, runs.tags) == ((), (), (), {})
    assert scene.rows("select * from rounds order by id") == before
    assert run.backfill_slots(scene.context, slot(2)) == [slot(3), slot(4)]


def lose(scene, number):
    """Let the store forget a round, as one does that another one takes the place of."""
    lost = scene.round(number).id
    with scene.database.write() as connection:
        for table in reversed(metadata.sorted_tables):
            if "round_id" in table.c:
                connection.execute(delete(table).where(table.c.round_id == lost))
        connection.execute(delete(rounds).where(rounds.c.id == lost))


@pytest.fixture
def hooked(scene):
    """A monitor with a hook, and the service that has seen its second round opened."""
    scene.runs = None
    scene.now = slot(2)
    context = scene.context
    run.run(context)
    return scene, context


def test_a_service_notices_that_a_failover_lost_the_newest_round_and_tells_a_hook(hooked):
    scene, context = hooked
    lose(scene, 2)

    for _ in range(2):
        run.run(context)

    [notice] = scene.notices("ops")
    assert (notice["event"], notice["round"]) == ("round.attention", 1)
    assert "has lost the round of mail due 2025-03-10 06:00 UTC" in notice["sentence"]
    assert scene.round(2).state == "labeling"  # drawn again
    assert "has lost the round" in str(scene.overview())


def test_a_lost_round_that_mlflow_shows_is_not_done_again_and_a_hook_is_told_what_to_do(hooked):
    scene, context = hooked
    runs = Runs()
    runs.of(2)
    lose(scene, 2)

    for _ in range(2):
        with pytest.raises(ConfigRefused, match="pr-monitor db restored"):
            run.run(replace(context, runs=runs))

    [notice] = scene.notices("ops")
    assert "MLflow shows a round of mail due 2025-03-10 06:00 UTC" in notice["sentence"]
    assert [row["number"] for row in scene.rows("select number from rounds")] == [1]


def test_a_round_that_could_not_be_opened_is_not_taken_for_lost(hooked, monkeypatch):
    scene, context = hooked
    scene.now = slot(3)

    def away(*_):
        message = "the store does not answer"
        raise StoreUnavailable(message)

    with monkeypatch.context() as broken:
        broken.setattr(due, "_add", away)
        with pytest.raises(StoreUnavailable):
            run.run(context)
    run.run(context)

    assert [notice["event"] for notice in scene.notices("ops")] == [
        "round.abandoned"
    ]  # round 2, unlabeled
    assert scene.round(3).state == "labeling"
