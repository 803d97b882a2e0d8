"""A restatement that is killed at any point is done once."""

import shutil

from monitor.domain.model import Answer
from monitor.storage.database import Database
from tests.rounds.restatements import restate_precision, scene_of, stands
from tests.workers import lives_until_one_is_whole

LIVES = """
import shutil

import structlog

from monitor.domain import crashpoint
from monitor.domain.model import Answer
from monitor.storage.database import Database
from tests.faults.few_points import few_points
from tests.rounds.restatements import restate_precision, scene_of

structlog.configure(logger_factory=structlog.PrintLoggerFactory(file=sys.stderr))
folder = sys.argv[1]


def live(number):
    shutil.copy(f"{folder}/start.db", f"{folder}/{number}.db")
    scene = scene_of(Database(f"sqlite:///{folder}/{number}.db"), after=3, labels=40)
    crashpoint.hook = killed_at(number)
    with few_points(2**10):
        restate_precision(scene, 2, to=Answer.NEGATIVE)


lives(live)
"""


def test_a_restatement_killed_anywhere_and_asked_for_again_is_done_once(store_tables, tmp_path):
    shutil.copy(store_tables, tmp_path / "start.db")
    played(Database(f"sqlite:///{tmp_path}/start.db")).database.close()

    codes = list(lives_until_one_is_whole(LIVES, tmp_path))
    after = [after_another(tmp_path / f"{number}.db") for number in range(1, len(codes) + 1)]

    assert len(codes) > 6
    assert [number for number, found in enumerate(after, 1) if found != after[-1]] == []


def played(database):
    """Three closed rounds, of which the first two are final."""
    scene = scene_of(database, labels=40)
    for number in (1, 2, 3):
        scene.play(number, precision=0.85, recall=0.6)
    return scene


def after_another(path):
    """How a store stands after one more has asked for the same."""
    scene = scene_of(Database(f"sqlite:///{path}"), after=3, labels=40)
    restate_precision(scene, 2, to=Answer.NEGATIVE)
    found = stands(scene)
    scene.database.close()
    return found
