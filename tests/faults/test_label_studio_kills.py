"""R1 for Label Studio: `kill -9`, and answers that get lost, while tasks go out and labels come."""

from collections import Counter

from monitor.domain.model import Answer, LabelKind, Task
from monitor.storage import schema
from monitor.storage.database import Database
from tests.crashes import at_points, killed_at
from tests.faults.sizes import sized
from tests.label_studio import labeler_on
from tests.small_config import rows
from tests.workers import lives_until_one_is_whole

AFTER = "after label studio"
TASKS = {
    key: Task(key, f"item-{key}", {"text": f"text of {key}"}, slot=2 if key == "ee" else 1)
    for key in ("aa", "bb", "cc", "dd", "ee")
}

# Each line is a life in which a round is drawn, labeled and closed; it kills itself at its n-th
# crash point. People in Label Studio live on: they correct every fourth answer.
LIVES = """
from pathlib import Path

from monitor.domain import crashpoint
from monitor.domain.model import Answer
from monitor.storage.database import Database
from tests.label_studio import LabelStudio, labeler_on
from tests.service.pages.people import scene_of

url, studio, token, store = sys.argv[1:]


def label(labeler):
    people = LabelStudio(Path("."), studio, token)
    for project in people.projects(labeler):
        for task in people.tasks(project):
            key, said = task["data"]["task"], len(task["annotations"])
            wanted = Answer.POSITIVE if int(key[-1], 16) % 2 else Answer.NEGATIVE
            if not said and int(key[-2], 16) % 4 == 0:
                people.answer(labeler, key, Answer.CANNOT_TELL)
            elif f"[{people.word(wanted)}]" not in task["annotations_results"]:
                people.answer(labeler, key, wanted)


def live(last):
    scene = scene_of(Database(url), labels=8)
    scene.labeler = labeler_on(studio, token, store=store)
    crashpoint.hook = killed_at(last)
    scene.draw(1)
    for _ in range(3):
        label(scene.labeler)
        scene.run()


lives(live)
"""


def keys(label_studio, labeler):
    """Keys of all tasks that are there, by project."""
    return [
        sorted(task["data"]["task"] for task in label_studio.tasks(project))
        for project in label_studio.projects(labeler)
    ]


def test_no_text_is_left_and_no_answer_lost_wherever_the_closing_ends(label_studio):
    def labeled():
        labeler = labeler_on(label_studio.url)
        labeler.send("r", list(TASKS.values()))
        label_studio.answer(labeler, "aa", Answer.POSITIVE)
        label_studio.answer(labeler, "bb", Answer.NEGATIVE)
        return labeler

    whole = labeled()
    points: list[str] = []
    with at_points(points.append):
        whole.close("r")
    ends = [place for place, name in enumerate(points) if name == AFTER]

    left = []
    for place in ends[:: sized(small=3, soak=1)]:  # the answer to that request is lost
        labeler = labeled()
        with killed_at(place) as met:
            labeler.close("r")
        assert met[-1] == AFTER
        labeler.close("r")
        events = labeler.collect({key: TASKS[key] for key in ("aa", "bb")}, None).events
        left.append((keys(label_studio, labeler), "text of" in label_studio.seen(labeler)))
        assert {event.task_key for event in events if event.kind is LabelKind.GIVEN} == {"aa", "bb"}

    assert len(ends) > 6
    assert [one for one in left if one != ([["aa", "bb"]], False)] == []


def test_labels_of_label_studio_are_kept_once_wherever_it_is_killed(label_studio, tmp_path):
    url, store = f"sqlite:///{tmp_path}/monitor.db", str(tmp_path)
    database = Database(url)
    schema.ready(database)

    asked = (url, label_studio.url, label_studio.token, store)
    codes = list(lives_until_one_is_whole(LIVES, *asked))

    labeler = labeler_on(label_studio.url, label_studio.token, store=store)
    [project] = label_studio.projects(labeler)
    tasks = label_studio.tasks(project)
    said = rows(database, "select external_id, answer from label_events order by at")
    wanted = {task["data"]["task"]: str(int(task["data"]["task"][-1], 16) % 2) for task in tasks}
    assert len(codes) > 5
    assert len(tasks) == len(wanted) == 8
    assert dict(said) == {f"{key}/ada@example.com": answer for key, answer in wanted.items()}
    assert max(Counter(said).values()) == 1
    assert rows(database, "select state from rounds") == [("closed",)]
