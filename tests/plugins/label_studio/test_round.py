"""A round of a small monitor in Label Studio, by the commands and a script over its interface."""

import json
import shutil

from monitor.domain.model import Answer
from monitor.storage.database import Database
from monitor.storage.schema import store_id
from tests.label_studio import TOKEN, labeler_on
from tests.small_config import configure, fill_labels
from tests.workers import python

LABELING = (
    """label_studio, url: "{url}", token: "${{STUDIO_TOKEN}}", question: "Is it about travel?\""""
)


def ran(*words, folder):
    """Run a command in a folder; it shows no token."""
    done = python("-m", "monitor", *words, cwd=folder, STUDIO_TOKEN=TOKEN)
    assert TOKEN not in done.stdout + done.stderr
    return done


def in_studio(folder, url):
    """Let the monitor of a folder be labeled in Label Studio."""
    path = folder / "config.yaml"
    labeling = LABELING.format(url=url)
    path.write_text(path.read_text().replace("{kind: files}", f"{{kind: {labeling}}}"))


def estimates(folder):
    page = json.loads(ran("show", "1", "--json", folder=folder).stdout)
    assert page["state"] == "closed"
    return page["strata"], page["metrics"] if "metrics" in page else page["estimates"]


def test_a_round_gives_the_same_estimate_as_by_files_for_the_same_answers(
    folder, label_studio, tmp_path_factory
):
    studio = tmp_path_factory.mktemp("studio")
    configure(folder)
    ran("status", folder=folder)  # makes the store, whose id decides the draw
    shutil.copytree(folder, studio, dirs_exist_ok=True)
    in_studio(studio, label_studio.url)

    checked = ran("check", folder=studio)
    opened = [ran("run-once", folder=place) for place in (folder, studio)]
    fill_labels(folder)
    labeler = labeler_on(label_studio.url, label_studio.token, store=store_of(studio))
    [project] = label_studio.projects(labeler)
    for task in label_studio.tasks(project):
        key = task["data"]["task"]
        answer = Answer.POSITIVE if int(key[1:], 16) % 2 else Answer.NEGATIVE
        label_studio.answer(labeler, key, answer)
    closed = [ran("run-once", folder=place) for place in (folder, studio)]

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"at {label_studio.url} as ada@example.com: Is it about travel?" in checked.stdout
    assert [one.returncode for one in opened + closed] == [0] * 4, closed[1].stderr
    assert len(label_studio.tasks(project)) == 20
    assert estimates(studio) == estimates(folder)
    assert TOKEN.encode() not in (studio / "monitor.db").read_bytes()


def store_of(folder):
    with Database(f"sqlite:///{folder}/monitor.db").read() as connection:
        return store_id(connection)
