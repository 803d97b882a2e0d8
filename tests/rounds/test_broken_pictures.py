"""Pictures that cannot be shown: said of a round where they are few, and waited for where not."""

from __future__ import annotations

import pytest

from monitor.domain.errors import SourceRefused
from monitor.domain.shown import no_picture
from monitor.domain.state import RoundState
from tests.rounds.scene import Scene, settings

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


def test_a_few_are_said_of_the_round(database):
    scene = scene_of(database, bad_rows_max=0.9)
    for row in scene.source.rows[::2]:
        row["picture"] = MISSING

    scene.run(1)

    [broken] = [
        row["reason"]
        for row in scene.rows("select reason from round_issues")
        if "picture" in row["reason"]
    ]
    sent = [task for tasks in scene.labeler.sent.values() for task in tasks.values()]
    count = sum(task.shown["picture"] == MISSING for task in sent)
    assert broken == (
        f"{count} of {len(sent)} items have a picture that cannot be shown "
        f"({count}: no such file or directory)"
    )
    assert 0 < count < len(sent)
