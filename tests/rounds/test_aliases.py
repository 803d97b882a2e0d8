"""Rounds of a monitor whose model is an alias, which people move from version to version."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from monitor.domain.errors import RegistryUnavailable
from monitor.domain.report import Status
from monitor.domain.settings import MonitorSettings
from monitor.domain.state import RoundState
from monitor.rounds.sampling.aliases import MOVED, REMOVED, UNKNOWN, check_aliases
from monitor.storage.overview import alias_store
from tests.rounds.scene import MONDAY, WEEK, Scene, settings

MODEL = "models:/mail-travel@champion"
DAY = timedelta(days=1)


@dataclass
class Registry:
    """Says which version the alias names now, and counts how often it is asked."""

    version: str | None = "7"
    is_cheap: bool = True
    down: bool = False
    broken: str = ""
    asked: list[str] = field(default_factory=list)

    def version_of(self, model):
        self.asked.append(model)
        if self.broken == model:
            raise KeyError(model)
        if self.down:
            message = "MLflow at http://host does not tell (timed out)"
            raise RegistryUnavailable(message)
        return self.version


@dataclass
class AliasScene(Scene):
    registry: Registry = field(default_factory=Registry)

    @property
    def context(self):
        return replace(super().context, aliases=self.registry)

    def look(self, at):
        """Pass at a time of its own, as the service does at each tick."""
        self.now = at
        check_aliases([self.context])

    def draw(self, number, *, count=300, **changes):
        """Draw a round of few predictions."""
        return super().draw(number, count=count, **changes)

    def histories(self):
        """The model version of each round's history."""
        query = (
            "select h.model_version from rounds r join histories h on h.id = r.history_id"
            " order by r.slot"
        )
        return [row["model_version"] for row in self.rows(query)]

    def registered(self):
        return [row["registered"] for row in self.rows("select * from rounds order by slot")]

    def tagged(self):
        """Rounds whose closing tags a version."""
        query = "select key from effects where kind = 'model_tags' and key not like '%attention%'"
        return len(self.rows(query))


@pytest.fixture
def scene(database):
    return AliasScene(database, settings(model=MODEL))


def slot(number):
    return MONDAY + (number - 1) * WEEK


def test_as_long_as_an_alias_stays_its_rounds_are_one_history_of_that_version(scene):
    scene.play(1)
    scene.draw(2)

    assert scene.histories() == ["7"] * 2
    assert scene.registered() == ["models:/mail-travel/7"] * 2
    assert scene.tagged() == 1
    assert scene.concerns(2) == {}


def test_an_alias_moved_between_two_windows_opens_a_history_and_moved_back_goes_on_with_the_old(
    scene,
):
    scene.draw(1)
    for number, version in ((2, "8"), (3, "7")):
        scene.look(slot(number - 1) + timedelta(minutes=1))
        scene.registry.version = version
        scene.look(slot(number - 1) + timedelta(minutes=2))
        scene.draw(number)

    assert scene.histories() == ["7", "8", "7"]
    assert scene.registered()[1] == "models:/mail-travel/8"
    assert scene.concerns(2) == {}
    first, _, last = (scene.round(number).history_id for number in (1, 2, 3))
    assert first == last


def test_a_window_that_spans_a_move_needs_a_look_and_is_pooled_with_no_other(scene):
    scene.draw(1)
    scene.look(slot(1) + 3 * DAY)
    scene.registry.version = "8"
    scene.look(slot(1) + 4 * DAY)

    scene.play(2)
    status = scene.overview().status
    scene.play(3)

    assert scene.histories() == ["7", "7 and 8 in round 2", "8"]
    assert scene.registered() == ["models:/mail-travel/7", None, "models:/mail-travel/8"]
    said = scene.concerns(2)[MOVED]
    assert said.startswith(
        "the alias champion moved from version 7 to 8 between 2025-03-06 06:00 and "
        "2025-03-07 06:00 UTC"
    )
    assert status is Status.ATTENTION
    assert scene.concerns(3) == {}
    assert scene.tagged() == 2  # the figures of round 2 are neither version's


def test_looked_at_only_when_rounds_are_drawn_a_move_and_one_during_an_outage_lie_in_one_window(
    scene,
):
    scene.registry.is_cheap = False
    scene.look(MONDAY)
    scene.draw(1)
    scene.registry.version = "8"
    scene.draw(2)
    asked = len(scene.registry.asked)
    scene.registry.down, scene.registry.version = True, "9"
    scene.draw(3)
    scene.registry.down = False
    scene.draw(4)

    assert scene.histories() == ["7", "7 and 8 in round 2", "8", "8 and 9 in round 4"]
    assert asked == 2


def test_an_alias_that_is_deleted_leaves_the_version_in_use_and_says_so(scene):
    scene.draw(1)
    scene.registry.version = None

    scene.draw(2)

    assert scene.histories() == ["7", "7"]
    assert scene.concerns(2)[REMOVED] == (
        "the alias champion names no version; version 7 counts, which it named last: set it "
        "again, or name a version in `model`"
    )


def test_no_round_waits_for_mlflow_or_a_bug_in_a_look_and_the_last_known_version_counts(scene):
    scene.draw(1)
    scene.look(slot(1) + 2 * DAY)
    scene.registry.down = True

    scene.draw(2)
    before = scene.histories()
    scene.registry.down, scene.registry.broken = False, MODEL
    with capture_logs() as logs:
        scene.draw(3)

    assert scene.round(2).state is RoundState.ABANDONED
    assert scene.round(3).state is RoundState.LABELING
    assert before == ["7", "7"]
    assert "stopped by a bug in this program: KeyError: " in scene.concerns(3)[UNKNOWN]
    [said] = [line for line in logs if line["log_level"] == "error"]
    assert said["event"] == "alias not looked up: stopped by a bug"
    assert said["exc_info"]
    assert scene.concerns(2)[UNKNOWN] == (
        "the alias champion could not be looked up since 2025-03-05 06:00 UTC, so the round is "
        "taken to be of version 7, which it named then: MLflow at http://host does not tell "
        "(timed out)"
    )


def test_each_alias_is_looked_at_once_a_pass_a_bug_there_stops_no_other_and_an_outage_is_no_error(
    scene,
):
    other = "models:/spam@champion"
    contexts = [
        replace(scene.context, settings=MonitorSettings(name=name, round=settings(model=model)))
        for name, model in (("a", MODEL), ("b", MODEL), ("c", other), ("d", None))
    ]
    scene.registry.broken = MODEL

    with capture_logs():
        errors = check_aliases(contexts)
        scene.registry.broken, scene.registry.down = "", True
        outage = check_aliases(contexts)

    assert scene.registry.asked == [MODEL, other] * 2  # each once a pass
    assert {name: error.exit_code for name, error in errors.items()} == {"a": 1, "b": 1}
    assert [row["model"] for row in scene.rows("select * from alias_looks")] == [other]
    assert outage == {}


def test_an_alias_that_was_never_known_is_told_and_tags_nothing(scene):
    scene.registry.down = True

    found = scene.play(1)

    assert found.state is RoundState.CLOSED
    assert scene.histories() == [None]
    assert "never was, so no version is known" in scene.concerns(1)[UNKNOWN]
    assert scene.tagged() == 0


def test_rows_that_lag_behind_a_moved_alias_are_of_the_version_that_made_them(scene):
    scene.draw(1, version="7")
    scene.look(slot(1) + 3 * DAY)
    scene.registry.version = "8"
    scene.look(slot(1) + 4 * DAY)

    for number in (2, 3):  # the alias moved in the window of round 2, the scorer after round 3
        scene.draw(number, version="7")

    assert scene.histories() == ["7"] * 3
    assert scene.registered() == ["models:/mail-travel/7"] * 3
    assert scene.concerns(2) == {}


def test_rows_with_names_of_their_own_are_of_the_one_version_that_the_alias_named(scene):
    scene.draw(1, version="seven")
    scene.look(slot(1) + 3 * DAY)
    scene.registry.version = "8"
    for number in (2, 3):
        scene.draw(number, version="eight")

    assert scene.histories() == ["seven", "eight", "eight"]
    assert scene.registered() == ["models:/mail-travel/7", None, "models:/mail-travel/8"]
    assert scene.concerns(2) == {}


@pytest.mark.parametrize("model", [None, "models:/mail-travel/7"])
def test_without_an_alias_nobody_asks_and_nothing_changes(database, model):
    scene = AliasScene(database, settings(model=model))

    scene.draw(1)
    scene.look(slot(1) + DAY)

    assert scene.registry.asked == []
    assert (scene.histories(), scene.registered()) == ([None], [None])
    assert scene.rows("select * from alias_looks") == []


def test_a_clock_set_back_makes_no_look_earlier_than_the_one_before(scene):
    for at, version in ((slot(2), "7"), (slot(1), "8")):
        scene.registry.version = version
        scene.look(at)

    looks = scene.read(alias_store.read_observations, MODEL)

    assert [(look.version, look.first_at) for look in looks] == [("7", slot(2)), ("8", slot(2))]
