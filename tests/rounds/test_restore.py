"""What a restored store does again, case by case; `tests/test_restored.py` has the whole story."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from sqlalchemy import delete

from monitor.domain.errors import ConfigRefused, DeliveryFailed, StoreUnavailable
from monitor.domain.model import ShownRun
from monitor.domain.sample_settings import Cells, Sample
from monitor.rounds import run
from monitor.rounds.opening import due
from monitor.rounds.opening.due import record_missed
from monitor.rounds.restore import reconcile, repeat_round
from monitor.storage.tables import metadata, rounds
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, MONDAY, WEEK, Scene, settings


@dataclass
class Runs:
    """MLflow's side: runs with their reports, and what became of them."""

    shown: list[ShownRun] = field(default_factory=list)
    reports: dict[str, dict[str, object]] = field(default_factory=dict)
    down: bool = False
    rewound: list[int] = field(default_factory=list)

    def of(self, number, *, version=1, state="closed", planned=None, alerts=()):
        """Let MLflow show a run of a round."""
        run = ShownRun(f"run{number}", slot(number), version, state, live=True)
        self.shown.append(run)
        strata = [{"stratum": name, "planned": n} for name, n in (planned or {}).items()]
        self.reports[run.run_id] = {"strata": strata, "alerts": list(alerts)}

    def find(self, *_):
        self._answer()
        return sorted(self.shown, key=lambda run: run.slot)

    def newest_slot(self, *_):
        self._answer()
        return max((run.slot for run in self.shown if run.live), default=None)

    def report(self, run):
        return self.reports.get(run.run_id)

    def retire(self, runs):
        self.shown = [replace(run, live=run.live and run not in runs) for run in self.shown]

    def rewind(self, *key_and_newest):
        self.rewound.append(key_and_newest[-1])

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
        forgotten = reconcile(self.context, self.runs)
        return forgotten, list(repeat_round(self.context, forgotten.behind))

    def states(self):
        return [(row["number"], row["state"]) for row in self.rows(
            "select number, state from rounds order by slot")]  # fmt: skip


def test_rounds_that_mlflow_never_saw_are_opened_too_and_ask_people_for_their_whole_time(scene):
    found, done = scene.restored()

    assert found.opened == (slot(2), slot(3), slot(4))
    assert [(str(each.state), each.first_version) for each, _ in done] == [("labeling", 1)] * 3
    assert {each.deadline for each, _ in done} == {scene.now + timedelta(days=5)}
    assert {each.settings.origin for each, _ in done} == {"schedule"}


def test_labels_that_come_by_themselves_have_had_their_time(scene, runs):
    runs.of(3)
    scene.labeler.asks_people = False
    scene.labeler.answers |= dict(list(scene.truth.items())[::2])  # half of them never came

    _, done = scene.restored()

    assert [(each.number, str(each.state), each.version) for each, _ in done] == [
        (2, "closed", 1),
        (3, "closed", 2),
        (4, "labeling", 0),
    ]
    assert scene.round(3).partial


def test_a_round_keeps_the_plan_that_it_was_drawn_by(scene, runs):
    """With other bands it is planned anew."""
    runs.of(2, planned={"flagged": 17, "passed": 23})
    runs.of(3, planned={"flagged-1": 17, "flagged-2": 20, "passed": 23})

    scene.restored()

    rows = scene.rows(
        "select r.number, s.planned, count(*) as drawn from strata s "
        "join rounds r on r.id = s.round_id "
        "join items i on i.round_id = s.round_id and i.stratum = s.stratum "
        "group by r.number, s.position, s.planned order by s.position"
    )
    found = {
        number: [(row["planned"], row["drawn"]) for row in rows if row["number"] == number]
        for number in (2, 3)
    }
    assert found[2] == [(17, 17), (23, 23)]
    assert [planned for planned, *_ in found[3]] not in ([17, 20, 23], [17, 23])


def test_a_round_of_score_cells_is_drawn_by_its_cells_again_and_not_by_the_bands_shown(scene, runs):
    scene.settings = settings(sample=Sample(max_labels=60, cells=Cells(flagged=2, passed=3)))
    runs.of(2, planned={"flagged": 40, "passed": 20})
    plan = {"flagged-1": 21, "flagged-2": 12, "passed-1": 3, "passed-2": 9, "passed-3": 15}
    runs.reports["run2"]["cells"] = [{"stratum": name, "planned": n} for name, n in plan.items()]

    scene.restored()

    query = "select s.stratum, s.planned from strata s join rounds r on r.id = s.round_id"
    rows = scene.rows(f"{query} where r.number = 2")
    assert {row["stratum"]: row["planned"] for row in rows} == plan


def test_what_cannot_be_drawn_any_more_holds_nothing_up_and_says_why(scene, runs):
    for number in (2, 3, 4):
        runs.of(number)
    scene.source.rows = [row for row in scene.source.rows if not slot(2) <= row["time"] < slot(3)]
    scene.answer()
    scene.labeler.answers |= scene.truth

    _, done = scene.restored()

    told = {each.number: (str(each.state), each.reason, met and str(met)) for each, met in done}
    assert told[2] == told[4] == ("closed", None, None)
    assert any("no predictions from" in str(why) for why in told[3][1:])


def test_a_round_that_was_labeling_starts_above_what_mlflow_shows(database):
    scene = Restored(database, settings())
    scene.draw(1)
    scene.runs.of(1, version=4)

    found, [(before, _)] = scene.restored()
    scene.label()

    assert (found.opened, found.retire, before.estimated_version) == ((), 1, 0)
    assert (scene.round(1).version, scene.round(1).first_version) == (5, 5)
    versions = scene.rows("select distinct version from evidence union select version from counts")
    assert [row["version"] for row in versions] == [5]


def test_skips_that_were_recorded_while_mlflow_was_down_are_opened_by_the_command(scene, runs):
    runs.of(2)
    runs.of(3, version=2)
    runs.down = True
    scene.run()
    runs.down = False

    before = scene.states()
    found, _ = scene.restored()

    assert before[1:] == [(2, "skipped"), (3, "skipped"), (4, "labeling")]
    assert found.opened == (slot(2), slot(3))
    assert scene.states()[1:] == [(2, "labeling"), (3, "labeling"), (4, "labeling")]
    assert scene.round(3).first_version == 3


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
    assert not any("restored" in each for each in after)


def test_a_slot_that_the_schedule_no_longer_has_is_told_and_left_and_so_is_an_unknown_alert(
    scene, runs
):
    slots = [slot(2) + timedelta(hours=hours) for hours in (5, 6)]
    for version, at in enumerate(slots):  # the first without a version and a state
        runs.shown.append(ShownRun(f"{version}", at, version, "closed" * version, live=True))
    runs.of(3)
    runs.reports.clear()

    found, _ = scene.restored()

    assert found.off_schedule == tuple(slots)
    assert [run.live for run in runs.shown][:2] == [True, True]
    assert [state for _, state in scene.states()] == ["closed", *["labeling"] * 3]
    assert found.alerts is None


def test_a_forgotten_backfill_of_older_slots_wakes_nobody(scene, runs):
    scene.week(0)
    runs.of(0)

    scene.restored()

    origins = {each.number: each.settings.origin for each in map(scene.round, (0, 1, 2))}
    assert origins == {0: "backfill", 1: "schedule", 2: "schedule"}


def test_a_forgotten_alert_ends_for_the_hooks_once_however_often_it_is_repeated(scene, runs):
    alert = {"id": "a1", "metric": "recall", "side": "at_least", "limit": 0.4}
    runs.of(3, alerts=[alert | {"state": "firing", "fired_in_round": 2}])

    first, _ = scene.restored()
    runs.shown = [replace(run, live=True) for run in runs.shown]  # it was killed before
    scene.restored()

    assert [alert.id for alert in first.alerts] == ["a1"]
    told = scene.rows(
        "select sink from effects where cast(payload as text) like '%alert.resolved%' order by id"
    )
    assert [row["sink"] for row in told] == ["log", "ops"]


def test_a_round_abandoned_here_and_done_again_since_is_left_to_people(scene, runs):
    scene.settings = scene.settings.model_copy(update={"grace": timedelta(0)})
    scene.source.rows = []
    scene.run()
    assert scene.states()[-1] == (4, "abandoned")
    runs.of(4, version=2)

    found, _ = scene.restored()

    assert found.abandoned == (slot(4),)


def test_where_nothing_is_lost_nothing_changes(scene, runs):
    record_missed(scene.context, [slot(2), slot(3)], slot(4))
    scene.run()
    runs.of(1)
    before = scene.rows("select * from rounds order by id")

    found, done = scene.restored()

    assert (found.opened, found.behind, found.retire, found.alerts) == ((), {}, 0, ())
    assert [each.number for each, _ in done] == [4]
    unclaimed = [{**row, "attempt": 0} for row in scene.rows("select * from rounds order by id")]
    assert unclaimed == [{**row, "attempt": 0} for row in before]
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


def test_a_service_whose_store_lost_nothing_does_not_ask_mlflow(hooked, monkeypatch):
    scene, context = hooked
    runs = Runs()
    monkeypatch.setattr(runs, "newest_slot", None)
    scene.now += timedelta(days=1)

    run.run(replace(context, runs=runs))

    assert scene.notices("ops") == []


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
