"""R9: whatever happens in whatever order, the promise holds once all is up again."""

import itertools
import logging
import shutil
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import text

from monitor.domain.model import Answer
from monitor.storage import claims, schema
from monitor.storage.database import Database
from tests.faults import invariants
from tests.faults.any_order import CONFIGS, EARLIER, FLAGGED, WEEKS, Stage
from tests.faults.few_points import few_points
from tests.faults.sizes import SOAK, sized
from tests.rounds.scene import MONDAY, WEEK

EXAMPLES = sized(small=12, soak=100)
STEPS = sized(small=12, soak=50)
AT_ALL_TIMES = (
    invariants.one_sample_per_round,
    invariants.no_accepted_label_disappears,
    invariants.one_estimate_per_version,
)
LAST = MONDAY + sized(small=5, soak=WEEKS - 6) * WEEK
SEVERAL = 3  # rounds that wait for their labels at the same time
POINTS = 2**6

played: Counter[str] = Counter()
numbers = itertools.count()


class Rounds(RuleBasedStateMachine):
    """Each rule is something that happens to a monitor; `tick` is the program's own doing."""

    template: Path
    folder: Path

    @initialize(
        seed=st.integers(0, 2**32),
        weeks=st.lists(st.none() | st.integers(0, 60), min_size=1, max_size=2),
        order=st.permutations(range(SEVERAL)),
        bad=st.integers(0, SEVERAL - 1),
        recovers=st.booleans(),
    )
    def begin(self, seed, weeks, order, bad, recovers):
        path = self.folder / f"{next(numbers)}.db"
        shutil.copy(self.template, path)
        self.stage = Stage(f"sqlite:///{path}", seed)
        self.accepted = set()
        vars(claims)["worker_name"] = lambda: self.stage.running.name
        vars(claims)["is_dead"] = lambda name: name in self.stage.removed
        for place in weeks:
            if place is None:
                self.a_week_goes_by_and_people_answer(which=0, share=1)
            else:
                self.a_week_goes_by_and_workers_are_killed(place, share=1)
        self.a_person_ends_the_open_alerts()  # so that a new one can fire
        self.weeks_go_by_and_people_answer_their_rounds_in_any_order(order, bad, place=None)
        if recovers:
            self.weeks_go_by_and_people_answer_their_rounds_in_any_order(order, None, place=None)

    @rule()
    def tick(self):
        self.no_bug(self.stage.tick())

    @rule()
    def tick_of_the_second_worker(self):
        self.no_bug(self.stage.tick(1))

    @rule(place=st.integers(0, 60))
    def tick_and_be_killed(self, place):
        self.stage.tick_killed(place)

    @rule(place=st.integers(0, 60))
    def tick_while_the_second_worker_ticks(self, place):
        self.no_bug(self.stage.tick_beside(place))

    @precondition(lambda self: self.stage.now < LAST)
    @rule(hours=st.sampled_from([1, 5, 30, 7 * 24, 10 * 24, 15 * 24]))
    def time_passes(self, hours):
        self.stage.now += timedelta(hours=hours)
        self.stage.newest = max(self.stage.newest, self.stage.now)

    @precondition(lambda self: self.stage.now < LAST)
    @rule(which=st.sampled_from([0, 1]), share=st.sampled_from([0.7, 1]))
    def a_week_goes_by_and_people_answer(self, which, share):
        self.stage.now = self.stage.newest = self.stage.newest + WEEK
        self.no_bug(self.stage.tick(which))
        self.people_answer(share)
        self.no_bug(self.stage.tick(which))

    @precondition(lambda self: self.stage.now < LAST)
    @rule(place=st.integers(0, 60), share=st.sampled_from([0.7, 1]))
    def a_week_goes_by_and_workers_are_killed(self, place, share):
        self.stage.now = self.stage.newest = self.stage.newest + WEEK
        self.stage.tick_killed(place)
        self.no_bug(self.stage.tick_beside(place))
        self.people_answer(share)
        self.stage.tick_killed(place)

    @precondition(lambda self: self.stage.now < LAST)
    @rule(
        order=st.permutations(range(SEVERAL)),
        bad=st.none() | st.integers(0, SEVERAL - 1),
        place=st.none() | st.integers(0, 60),
    )
    def weeks_go_by_and_people_answer_their_rounds_in_any_order(self, order, bad, place):
        for _ in order:
            self.stage.now = self.stage.newest = self.stage.newest + WEEK
            self.no_bug(self.stage.tick())
        for newest in order:
            self.stage.plant_week(newest, drop=newest == bad)
            self.one_round_is_answered(newest)
            if place is None:
                self.no_bug(self.stage.tick())
            else:
                self.stage.tick_killed(place)

    @rule(newest=st.integers(0, 6))
    def one_round_is_answered(self, newest):
        for task in self.tasks_of(newest):
            self.stage.labeler.answers[task.item_id] = self.stage.truth[task.item_id]

    @rule(
        judged=st.dictionaries(
            st.integers(0, 6),
            st.sampled_from([Answer.POSITIVE, Answer.NEGATIVE]),
            min_size=1,
            max_size=SEVERAL,
        )
    )
    def flagged_items_of_some_rounds_are_judged_anew_and_told_in_one_pass(self, judged):
        """So that one pass corrects an old alert away, and finds another in a late round."""
        for newest, answer in judged.items():
            for task in self.tasks_of(newest):
                flagged = task.item_id in FLAGGED
                self.stage.labeler.answers[task.item_id] = answer if flagged else Answer.NEGATIVE
        self.no_bug(self.stage.tick())

    @rule()
    def a_person_ends_the_open_alerts(self):
        self.stage.end_alerts()

    @rule(weeks=st.integers(0, EARLIER))
    def past_weeks_are_filled(self, weeks):
        self.no_bug(self.stage.backfill(weeks))

    @rule(hours=st.sampled_from([1, 30, 8 * 24]))
    def the_clock_is_set_back(self, hours):
        self.stage.now -= timedelta(hours=hours)

    @rule()
    def the_clock_is_right_again(self):
        self.stage.now = self.stage.newest

    @rule(share=st.floats(0.1, 1))
    def people_answer(self, share):
        for item in self.items(share):
            self.stage.labeler.answers[item] = self.stage.truth[item]

    @rule(share=st.floats(0, 0.3), answer=st.sampled_from(Answer))
    def people_change_their_answers(self, share, answer):
        for item in self.items(share):
            if item in self.stage.labeler.answers:
                self.stage.labeler.answers[item] = answer

    @rule(share=st.floats(0, 0.2))
    def people_take_answers_back(self, share):
        for item in self.items(share):
            self.stage.labeler.answers.pop(item, None)

    @rule(down=st.booleans())
    def the_labeler_goes_or_comes(self, down):
        self.stage.labeler.down = down

    @rule(down=st.booleans())
    def the_source_goes_or_comes(self, down):
        self.stage.source.down = down

    @rule(name=st.sampled_from(["log", "ops", "mlflow"]), down=st.booleans())
    def a_sink_goes_or_comes(self, name, down):
        self.stage.sinks[name].down = down

    @rule(name=st.sampled_from(["log", "ops", "mlflow"]))
    def a_sink_loses_its_answer(self, name):
        self.stage.sinks[name].loses_answer = True

    @rule(config=st.sampled_from(CONFIGS))
    def the_config_changes(self, config):
        self.stage.settings = config

    @invariant()
    def nothing_is_doubled_or_lost_meanwhile(self):
        found = [each for check in AT_ALL_TIMES for each in check(self.case())]
        self.accepted |= invariants.accepted_labels(self.stage.workers[0].database)

        assert found == []

    def teardown(self):
        if not hasattr(self, "stage"):
            return
        try:
            self.no_bug(self.stage.end())
            self.accepted |= invariants.accepted_labels(self.stage.workers[0].database)
            case = self.case()

            found = [each for check in invariants.CHECKS for each in check(case)]
            played.update(kills=self.stage.kills, lives=1, **dict(case.rows(STATES)))
            played["late alerts"] += case.rows(invariants.LATE_ALERTS.format(of="history_id"))[0][0]
            played["recovered alerts"] += len(case.rows(invariants.ENDED))

            assert found == []
        finally:
            self.stage.close()

    def no_bug(self, bugs):
        assert bugs == []

    def tasks_of(self, newest):
        """Tasks of one round, counted from the one that was handed out last."""
        sent = list(self.stage.labeler.sent.values())
        return list(sent[-1 - newest].values()) if newest < len(sent) else []

    def items(self, share):
        out = [task for tasks in self.stage.labeler.sent.values() for task in tasks.values()]
        ids = sorted({task.item_id for task in out})
        return self.stage.rng.sample(ids, round(share * len(ids)))

    def case(self):
        database = self.stage.workers[0].database
        with database.read() as connection:
            keys = [set(connection.execute(text(KEYS + each)).scalars()) for each in ENDS]
        return invariants.Case(
            database=database,
            outside=self.stage.outside(*keys),
            now=self.stage.newest,
            repeats=self.stage.repeats,
            accepted=frozenset(self.accepted),
        )


STATES = "select state, count(*) from rounds group by state"
KEYS = "select key from tasks t join rounds r on r.id = t.round_id where r.state "
ENDS = ("in ('labeling', 'closed')", "= 'abandoned'")


@pytest.fixture
def cheap(monkeypatch, tmp_path):
    """Rounds that cost milliseconds: few Sobol points, and tables made once."""
    for name in ("worker_name", "is_dead"):  # which each story sets to its own
        monkeypatch.setattr(claims, name, vars(claims)[name])
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    template = Database(f"sqlite:///{tmp_path}/template.db")
    schema.ready(template)
    with template.write() as connection:
        connection.execute(text("update store set id = 'any order'"))
    template.close()
    monkeypatch.setattr(Rounds, "template", tmp_path / "template.db", raising=False)
    monkeypatch.setattr(Rounds, "folder", tmp_path, raising=False)
    with few_points(POINTS):
        yield
    structlog.reset_defaults()


def test_the_promise_holds_whatever_happens_in_whatever_order(cheap):
    played.clear()

    run_state_machine_as_test(
        Rounds,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=not SOAK,
            phases=(Phase.generate,),  # a story takes seconds: shrink one by hand, by its seed
            suppress_health_check=list(HealthCheck),
        ),
    )

    assert played["closed"] > EXAMPLES
    assert played["kills"] > EXAMPLES // 10
    assert played["late alerts"] > EXAMPLES // 10
    assert played["recovered alerts"] > EXAMPLES // 25
