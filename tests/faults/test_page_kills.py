"""R1 for the labeling page: `kill -9` while a person labels; what got no receipt is sent again."""

import json
from collections import Counter

from tests.small_config import rows
from tests.workers import lives_until_one_is_whole

# Each line is a life in which a round is drawn, labeled and closed; it kills itself at its n-th
# crash point. The browser lives on: its notes say what it sent and what was receipted.
LIVES = """
from pathlib import Path

from monitor.domain import crashpoint
from monitor.domain.model import Answer
from monitor.service.pages.labeling.task_queue import AnswerOutcome, TaskQueue
from monitor.storage.database import Database
from tests.service.pages.people import on_page, scene_of

url, folder = sys.argv[1], Path(sys.argv[2])
notes = folder / "browser.jsonl"


def noted():
    return [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []


def note(**what):
    with notes.open("a") as stream:
        stream.write(json.dumps(what) + "\\n")
        stream.flush()


def send(desk, said):
    answer = None if said["answer"] is None else Answer(said["answer"])
    outcome = desk.record_answer("ada", said["task"], answer, said["revision"])
    assert outcome is AnswerOutcome.TAKEN, (outcome, said)
    note(receipt=said)


def label(desk):
    lines = noted()
    if lines and "sent" in lines[-1]:
        send(desk, lines[-1]["sent"])
    while (screen := desk.screen("ada")).tasks:
        receipts = [line["receipt"] for line in noted() if "receipt" in line]
        if len(receipts) in (3, 7):  # every now and then the last answer is taken back
            last = receipts[-1]
            said = {"task": last["task"], "revision": last["revision"] + 1, "answer": None}
        else:
            task = screen.tasks[0]
            answer = "1" if len(receipts) % 2 else "0"
            said = {"task": task.key, "revision": task.revision, "answer": answer}
        note(sent=said)
        send(desk, said)


def live(last):
    scene = on_page(scene_of(Database(url), labels=8), folder)
    crashpoint.hook = killed_at(last)
    scene.draw(1)
    label(TaskQueue(scene.database, lambda: scene.now, lambda: [scene.name]))
    scene.run()


lives(live)
"""


def test_answers_on_the_page_are_kept_once_wherever_it_is_killed(database, tmp_path):
    url = database.engine.url.render_as_string(hide_password=False)

    codes = list(lives_until_one_is_whole(LIVES, url, tmp_path))

    receipts = [
        line["receipt"]
        for line in map(json.loads, (tmp_path / "browser.jsonl").read_text().splitlines())
        if "receipt" in line
    ]
    wanted = [(one["task"], one["revision"] + 1, one["answer"]) for one in receipts]
    said = rows(database, "select task_key, revision, answer from page_answers order by id")
    labels = dict(rows(database, "select external_id, answer from label_events order by at"))
    assert len(codes) > 10
    lost, doubled = Counter(wanted) - Counter(said), Counter(said) - Counter(wanted)
    assert (lost, doubled) == (Counter(), Counter())
    assert max(Counter(wanted).values()) == 1
    assert labels == {f"{task}/ada": answer for task, _, answer in wanted}
    assert len(labels) == 8
    assert rows(database, "select state from rounds") == [("closed",)]
