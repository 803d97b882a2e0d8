"""A restatement that is killed at any point is done once."""

import shutil
from contextlib import closing
from itertools import count

from monitor.domain.model import Answer
from monitor.storage import claims
from monitor.storage.database import Database
from tests.crashes import killed_at
from tests.rounds.restatements import restate_precision, scene_of, stands


def test_a_restatement_killed_anywhere_and_asked_for_again_is_done_once(
    store_tables, tmp_path, monkeypatch
):
    monkeypatch.setattr(claims, "is_dead", lambda _: True)  # as the process before then is
    start = tmp_path / "start.db"
    shutil.copy(store_tables, start)
    with closing(Database(f"sqlite:///{start}")) as database:
        scene = scene_of(database, labels=40)
        for number in (1, 2, 3):  # the first two are final
            scene.play(number, precision=0.85, recall=0.6)

    after = []
    for place in count():
        path = tmp_path / f"{place}.db"
        shutil.copy(start, path)
        with killed_at(place) as points:
            restated(path)
        after.append(restated(path))
        if len(points) <= place:
            break

    assert len(after) > 6
    assert [number for number, found in enumerate(after, 1) if found != after[-1]] == []


def restated(path):
    """How a store stands after somebody asked for a restatement of its second round."""
    with closing(Database(f"sqlite:///{path}")) as database:
        scene = scene_of(database, after=3, labels=40)
        restate_precision(scene, 2, to=Answer.NEGATIVE)
        return stands(scene)
