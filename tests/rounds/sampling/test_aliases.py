"""Rounds of a monitor whose model is an alias, which people move from version to version."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from monitor.domain.errors import DeliveryFailed, SourceRefused
from monitor.domain.report import Status
from monitor.domain.state import RoundState
from monitor.rounds.opening.due import open_slot
from monitor.rounds.sampling.aliases import MOVED, REMOVED, UNKNOWN
from tests.rounds.scene import MONDAY, WEEK, Scene, settings

MODEL = "models:/mail-travel@champion"


@dataclass
class Registry:
    """Says which version the alias names now, and counts how often it is asked."""

    version: str | None = "7"
    down: bool = False
    broken: bool = False
    asked: list[str] = field(default_factory=list)

    def version_of(self, model):
        self.asked.append(model)
        if self.broken:
            raise KeyError(model)
        if self.down:
            message = "MLflow at http://host did not answer (timed out)"
            raise DeliveryFailed(message)
        return self.version


@dataclass
class AliasScene(Scene):
    registry: Registry = field(default_factory=Registry)

    @property
    def context(self):
        return replace(super().context, aliases=self.registry)

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


def test_as_long_as_an_alias_stays_its_rounds_are_one_history_of_that_version(scene):
    scene.play(1)
    scene.draw(2)

    assert scene.histories() == ["7"] * 2
    assert scene.registered() == ["models:/mail-travel/7"] * 2
    assert scene.tagged() == 1
    assert scene.concerns(2) == {}


def test_an_alias_is_read_once_a_round_and_not_again_while_the_round_waits(scene):
    with pytest.raises(SourceRefused):  # its predictions are not there
        scene.run(1)
    scene.registry.version = "8"
    with pytest.raises(SourceRefused):
        scene.run(later=timedelta(minutes=1))
    scene.draw(1)

    assert scene.registry.asked == [MODEL]
    assert scene.registered() == ["models:/mail-travel/7"]


def test_a_window_that_spans_a_move_needs_a_look_and_is_pooled_with_no_other(scene):
    scene.draw(1)
    scene.registry.version = "8"

    scene.play(2)
    status = scene.overview().status
    scene.play(3)

    assert scene.histories() == ["7", "7 and 8 in round 2", "8"]
    assert scene.registered() == ["models:/mail-travel/7", None, "models:/mail-travel/8"]
    said = scene.concerns(2)[MOVED]
    assert said.startswith(
        "the alias champion moved from version 7 to 8 between 2025-03-03 06:00 and "
        "2025-03-10 06:00 UTC"
    )
    assert status is Status.ATTENTION
    assert scene.concerns(3) == {}
    assert scene.tagged() == 2  # the figures of round 2 are neither version's


def test_an_alias_that_moves_back_goes_on_with_the_old_history(scene):
    for number, version in enumerate(("7", "8", "8", "7", "7"), 1):
        scene.registry.version = version
        scene.draw(number)

    assert scene.histories() == [
        "7", "7 and 8 in round 2", "8", "8 and 7 in round 4", "7",
    ]  # fmt: skip
    assert scene.round(1).history_id == scene.round(5).history_id


def test_rounds_of_the_past_are_of_the_version_that_the_first_round_after_them_read(scene):
    """A backfill reads the alias far too late."""
    scene.week(3, count=300)
    scene.run(3)
    scene.registry.version = "8"
    for number in (1, 2):
        scene.week(number, count=300)

    scene.now += timedelta(days=1)
    for number in (1, 2):
        with capture_logs():
            open_slot(scene.context, MONDAY + (number - 1) * WEEK, backfill=True)
            scene.run()

    assert scene.registered() == ["models:/mail-travel/7"] * 3


def test_an_alias_that_is_deleted_leaves_the_version_in_use_and_says_so(scene):
    scene.draw(1)
    scene.registry.version = None

    scene.draw(2)

    assert scene.histories() == ["7", "7"]
    assert scene.concerns(2)[REMOVED] == (
        "the alias champion names no version; version 7 counts, which it named last: set it "
        "again, or name a version in `model`"
    )


def test_no_round_waits_for_mlflow_or_a_bug_and_the_last_known_version_counts(scene):
    scene.draw(1)
    scene.registry.down = True

    scene.draw(2)
    scene.registry.down, scene.registry.broken = False, True
    with capture_logs() as logs:
        scene.draw(3)

    assert scene.round(3).state is RoundState.LABELING
    assert scene.histories() == ["7", "7", "7"]
    assert "stopped by a bug in this program: KeyError: " in scene.concerns(3)[UNKNOWN]
    [said] = [line for line in logs if line["log_level"] == "error"]
    assert said["event"] == "alias not read: stopped by a bug"
    assert said["exc_info"]
    assert scene.concerns(2)[UNKNOWN] == (
        "the alias champion could not be read, so the round is taken to be of version 7, which it "
        "named 2025-03-03 06:00 UTC: MLflow at http://host did not answer (timed out)"
    )


def test_a_move_during_an_outage_is_of_the_first_round_after_it(scene):
    scene.draw(1)
    scene.registry.down = True
    scene.draw(2)
    scene.registry.down, scene.registry.version = False, "8"
    scene.draw(3)

    assert scene.histories() == ["7", "7", "7 and 8 in round 3"]


def test_an_alias_that_was_never_known_is_told_and_tags_nothing(scene):
    scene.registry.down = True

    found = scene.play(1)

    assert found.state is RoundState.CLOSED
    assert scene.histories() == [None]
    assert "could not be read, so no version is known" in scene.concerns(1)[UNKNOWN]
    assert scene.tagged() == 0


def test_rows_that_lag_behind_a_moved_alias_are_of_the_version_that_made_them(scene):
    scene.draw(1, version="7")
    scene.registry.version = "8"

    for number in (2, 3):  # the alias moved in the window of round 2, the scorer after round 3
        scene.draw(number, version="7")

    assert scene.histories() == ["7"] * 3
    assert scene.registered() == ["models:/mail-travel/7"] * 3
    assert scene.concerns(2) == {}


def test_rows_with_names_of_their_own_are_of_the_one_version_that_the_alias_named(scene):
    scene.draw(1, version="seven")
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

    assert scene.registry.asked == []
    assert (scene.histories(), scene.registered()) == ([None], [None])
