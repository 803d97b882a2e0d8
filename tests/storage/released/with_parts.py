"""Write down a store of schema 0018 whose rounds have parts, and how that version went on with it.

Run once, in a checkout of that version: ``PYTHONPATH=. python with_parts.py FOLDER`` writes
``0018.json``. Rounds have segments, a challenger and second copies: two closed ones of which
one was corrected, one closed with late labels that no version has counted, and one half labeled.
"""

import json
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import numpy as np

from monitor.domain.challenger import Challenger
from monitor.domain.model import Answer
from monitor.domain.sample_settings import Cells, Sample
from monitor.domain.settings import Limits
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.testing import MemorySource
from tests.faults.few_points import few_points
from tests.rounds.scene import THRESHOLD, Scene, settings
from tests.storage.released.write import rows

COMPARED = (
    *("segments", "segment_search", "agreement", "challenger", "judge", "checks", "cause"),
    *("version", "status", "sentence", "notices", "alerts", "estimates", "evidence"),
)
"""What reports of both versions are compared by."""


def begin(database):
    """Return the scene as any version of the program may take it up: all weeks are there."""
    source = MemorySource(
        [], threshold=THRESHOLD, show=["text"], segments=["country", "client"], challenger="v8"
    )
    asked = settings(
        sample=Sample(max_labels=36, cells=Cells(flagged=2, passed=2)),
        limits=Limits.model_validate({"precision": 0.7}),
        challenger=Challenger(name="v8", predicted="v8"),
        overlap=0.3,
        late_labels=timedelta(days=21),
    )
    scene = Scene(database, asked, source)
    for number in range(1, 6):
        scene.week(number, count=200, share=0.3, precision=0.75 if number < 3 else 0.4)
    rng = np.random.default_rng(7)
    for place, row in enumerate(source.rows):
        is_positive = scene.truth[row["id"]] is Answer.POSITIVE
        row["v8"] = bool(rng.random() < (0.9 if is_positive else 0.05))
        row |= {"country": "CZ" if place % 3 else None, "client": f"client {place % 2}"}
    return scene


def answer(scene, number, share=1.0):
    """Let two people answer a round, the second one sometimes differently."""
    items = scene.rows(
        "select i.id from items i join rounds r on r.id = i.round_id where r.number = :number "
        "order by i.id",
        number=number,
    )
    for place, row in enumerate(items[: round(share * len(items))]):
        truth = scene.truth[row["id"]]
        scene.labeler.answers[row["id"]] = truth
        other = Answer.NEGATIVE if truth is Answer.POSITIVE else Answer.POSITIVE
        scene.labeler.second_answers[row["id"]] = other if place % 7 == 0 else truth


def turn(scene, number, count):
    """Let the first person change some answers."""
    scene.turn(*sorted(set(scene.labeler.answers) & set(scene.items(number)))[:count])


def play(scene):
    """Fill an empty store."""
    for number in (1, 2, 3):
        scene.run(number)
        answer(scene, number)
        scene.run()
        if number == 2:
            scene.now += timedelta(days=1)
            turn(scene, 1, 5)
            scene.run()
    scene.run(4)
    answer(scene, 4, share=0.5)
    scene.collect(4)
    scene.now += timedelta(days=1)
    turn(scene, 2, 4)
    scene.collect(2)


def go_on(scene):
    """Go on from there to the end: the correction, the half-labeled round, and one more."""
    scene.now = scene.round(4).opened_at + timedelta(days=2)
    scene.run()
    answer(scene, 4)
    scene.run()
    scene.run(5)
    answer(scene, 5)
    scene.run()


def outcome(scene):
    """Return what the reports of all versions say, apart from how notices word it."""
    reports = {
        f"{number}/v{version}": {
            name: value for name, value in scene.report(number, version).items() if name in COMPARED
        }
        for number in range(1, 6)
        for version in range(1, scene.round(number).version + 1)
    }
    for report in reports.values():
        for notice in report["notices"]:
            del notice["sentence"]
    return reports


def make(path):
    """Play a store, write down its rows, and how it goes on."""
    with tempfile.TemporaryDirectory() as folder, few_points(2**8):
        database = Database(f"sqlite:///{folder}/monitor.db")
        schema.ready(database)
        play(begin(database))
        written = rows(database)
        scene = begin(database)
        go_on(scene)
        text = {"rows": written, "outcome": outcome(scene)}
        path.write_text(json.dumps(text, separators=(",", ":")) + "\n")
        database.close()


if __name__ == "__main__":
    make(Path(sys.argv[1]) / "0018.json")
