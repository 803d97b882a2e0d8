"""Predictions that are replaced while a round is drawn, and pictures that cannot be shown."""

import pytest

from monitor.domain.errors import SourceRefused, SourceUnavailable
from monitor.domain.shown import no_picture
from monitor.domain.state import RoundState
from tests.rounds.scene import Scene, settings


@pytest.fixture
def scene(database):
    scene = Scene(database, settings())
    scene.week(1)
    return scene


def lose(scene, monkeypatch, share):
    """Let this share of the drawn items leave the predictions before they are shown."""
    show = scene.source.show

    def later(ids, window):
        found = show(ids, window)
        return {each: found[each] for each in ids[round(share * len(ids)) :]}

    monkeypatch.setattr(scene.source, "show", later)


def test_a_round_whose_items_left_the_predictions_is_said_and_drawn_anew(scene, monkeypatch):
    lose(scene, monkeypatch, 1)

    with pytest.raises(SourceUnavailable, match="left the predictions while the round was drawn"):
        scene.run(1)
    before = scene.round(1).state
    monkeypatch.undo()
    scene.run()

    assert before is RoundState.OPEN
    assert scene.round(1).state is RoundState.LABELING
    assert all(task.shown for task in scene.tasks)


def test_a_few_items_may_leave_the_predictions_while_a_round_is_drawn(scene, monkeypatch):
    lose(scene, monkeypatch, 0.005)

    scene.run(1)

    assert scene.round(1).state is RoundState.LABELING


MISSING = no_picture("no such file or directory", "a.png")


def scene_of(database, **more):
    scene = Scene(database, settings(**more))
    scene.source.shown = ("picture",)
    scene.week(1)
    return scene


def test_a_round_whose_pictures_cannot_be_shown_waits_for_them(database):
    scene = scene_of(database)
    for row in scene.source.rows:
        row["picture"] = MISSING

    with pytest.raises(SourceRefused, match="picture that cannot be shown") as caught:
        scene.run(1)
    before = scene.round(1).state
    for row in scene.source.rows:
        row["picture"] = "a text"
    scene.run()

    assert "no such file or directory" in str(caught.value)
    assert "a.png" not in str(caught.value), "hooks and MLflow may have it"
    assert before is RoundState.OPEN
    assert scene.round(1).state is RoundState.LABELING


def test_a_few_pictures_that_cannot_be_shown_are_said_of_the_round(database):
    scene = scene_of(database, bad_rows_max=0.9)
    for row in scene.source.rows[::2]:
        row["picture"] = MISSING

    scene.run(1)

    [broken] = [
        row["reason"]
        for row in scene.rows("select reason from round_issues")
        if "picture" in row["reason"]
    ]
    sent = scene.tasks
    count = sum(task.shown["picture"] == MISSING for task in sent)
    assert broken == (
        f"{count} of {len(sent)} items have a picture that cannot be shown "
        f"({count}: no such file or directory)"
    )
    assert 0 < count < len(sent)
