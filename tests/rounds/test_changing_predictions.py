"""Predictions that are replaced while a round is drawn from them: nobody is sent an empty task."""

from __future__ import annotations

import pytest

from monitor.domain.errors import SourceUnavailable
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
    assert all(task.shown for tasks in scene.labeler.sent.values() for task in tasks.values())


def test_a_few_items_may_leave_the_predictions_while_a_round_is_drawn(scene, monkeypatch):
    lose(scene, monkeypatch, 0.005)

    scene.run(1)

    assert scene.round(1).state is RoundState.LABELING
