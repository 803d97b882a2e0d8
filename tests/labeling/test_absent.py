"""A labeler whose package is gone: what its rounds show, and what is left when it is back."""

from functools import partial

import pytest

from monitor import wiring
from monitor.domain.errors import ConfigRefused
from monitor.storage.labels.label_notes import notes_of_open_rounds
from tests.rounds.scene import Scene, settings
from tests.small_config import configure


@pytest.fixture
def scene(database):
    return Scene(database, settings())


def obstacles(scene):
    with scene.database.read() as connection:
        notes = notes_of_open_rounds(connection, scene.name).get(scene.name, [])
    return [note.obstacle for note in notes if note.obstacle]


@pytest.mark.parametrize(
    ("kept", "why"),
    [
        ({"kind": "gone"}, "is not known"),
        # its truth was read where a source of another kind read then
        ({"kind": "column", "id": "i", "value": "v", "matures": "5d"}, "source reads no labels"),
    ],
)
def test_why_rounds_of_an_absent_kind_wait_is_shown_until_it_is_back(scene, tmp_path, kept, why):
    scene.week(1)
    scene.run(1)
    present = scene.labeler
    make = partial(
        wiring._made_labeler,
        configure(tmp_path),
        scene.name,
        lambda: scene.now,
        scene.database,
        scene.source,
    )
    scene.labeler = wiring._stored_labeler(kept, None, make)

    with pytest.raises(ConfigRefused):
        scene.run()
    while_absent = obstacles(scene)
    scene.labeler = present
    scene.run()

    assert len(while_absent) == 1
    assert why in while_absent[0]
    assert scene.round(1).state == "labeling"
    assert obstacles(scene) == []
