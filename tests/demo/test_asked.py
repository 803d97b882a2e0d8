"""The demo of labeling: a person answers for one week, and sees what it moves."""

import json
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from monitor.demo.digits import Camera, DigitScenario, write_pictures
from monitor.demo.labeling_week import LabelingWeek, story
from monitor.domain.model import Answer
from monitor.domain.shown import picture
from monitor.results.result import dump
from monitor.storage.pages import page_store
from tests.servers import free_port
from tests.service.pages.browsers import chromium

SHORT = DigitScenario(rounds=3, drop_round=3, images=2000, reference=3000, labels=200)
LABELS = 30


# --- the pictures ---


class Blind:
    """A classifier that sees no eight."""

    def predict_proba(self, features):
        return np.zeros((len(features), 2))


def test_pictures_are_what_pages_show_and_their_names_say_nothing_of_the_digit(tmp_path):
    camera = Camera(SHORT)
    camera.__dict__["_model"] = Blind()  # in place of one that is trained for a second
    week = camera.week(3)

    names = write_pictures(tmp_path / "pictures", week.paper)

    number = np.array([int(name.removesuffix(".png")) for name in names])
    eights, others = number[week.is_eight], number[~week.is_eight]
    assert len(names) == len(week.ids)
    assert others.min() < eights.mean() < others.max()
    shown = picture((tmp_path / "pictures" / names[0]).read_bytes())
    assert not isinstance(shown, str)
    assert "problem" not in shown


# --- all of it ---


@pytest.fixture(scope="module")
def week(tmp_path_factory):
    shown = StringIO()
    folder = tmp_path_factory.mktemp("asked") / "demo"
    week = LabelingWeek(folder, Console(file=shown, width=100), SHORT, LABELS)
    with closing(week.application.database):
        yield week


def tasks_of(week):
    """Keys on the page, and the items that they are of."""
    with week.application.database.read() as connection:
        rows = connection.exec_driver_sql(
            "select key, item_id from tasks where key in (select key from page_tasks)"
        )
        return {row.key: row.item_id for row in rows}


def answer(week, key, said):
    with week.application.database.write() as connection:
        now = week.application.clock()
        page_store.record_answer(connection, key, "ada", said, before=None, now=now)


@pytest.fixture(scope="module")
def answered(week):
    """All answers as the pictures are; how many there were before and what was shown."""
    eights = week._written.eights
    tasks = tasks_of(week)
    for place, (key, item) in enumerate(tasks.items()):
        assert week.answered() is None, f"after {place} answers of {len(tasks)}"
        answer(week, key, Answer.POSITIVE if item in eights else Answer.NEGATIVE)
    return week.answered()


def test_a_person_is_asked_for_thirty_pictures_and_for_nothing_else(week):
    with week.application.database.read() as connection:
        shown = [
            json.loads(row[0]) for row in connection.exec_driver_sql("select shown from page_tasks")
        ]

    assert len(shown) == LABELS
    assert {tuple(one) for one in shown} == {("picture",)}
    assert all(one["picture"]["value"].startswith("data:image/png;base64,") for one in shown)


def test_the_estimate_moves_once_all_is_answered_and_not_before(week, answered):
    before, after = answered.before, answered.after

    assert (answered.answers, answered.right) == (LABELS, LABELS)
    assert (before.number, after.number) == (2, 3)
    assert after.labeled.size == LABELS
    assert after.pooled["recall"] != before.pooled["recall"]
    assert json.loads(json.dumps(dump(answered)))["answers"] == LABELS


def test_what_is_said_of_it_has_both_weeks_the_truth_and_the_way_it_moved(answered):
    text = story(answered, 200)
    nothing = story(replace(answered, after=None, right=0), 200)

    assert nothing[-1] == "They are too few for an estimate: most of them are “cannot tell”."
    assert text[0] == "30 answers, 30 of them what the image really shows."
    assert text[2].split() == ["week", "2", "week", "3,", "your", "answers", "really"]
    assert [line.split()[0] for line in text[3:5]] == ["precision", "recall"]
    assert text[4].endswith(f"{answered.truth.recall:.2f}")
    assert any(line.startswith("Recall moved") or "did not move" in line for line in text)
    assert max(map(len, text)) <= 100


DEMO = """
import sys
from monitor.cli import main
from monitor.demo import labeling_week
from monitor.demo.digits import DigitScenario

short = DigitScenario(rounds=3, drop_round=3, images=2000, reference=3000, labels=200)
labeling_week.DigitScenario = lambda **_: short
sys.argv = ["pr-monitor", "demo", *sys.argv[1:]]
main()
"""


@pytest.mark.server
@pytest.mark.slow
def test_thirty_pictures_are_labeled_by_keys_in_a_browser_and_the_estimates_are_shown(tmp_path):
    arguments = ["demo", "--label", "--no-browser", "--port", str(free_port())]
    with subprocess.Popen(
        [sys.executable, "-c", DEMO, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as demo:
        assert demo.stdout is not None
        link = next(line.split()[-1] for line in demo.stdout if "/enter?key=" in line)

        with chromium() as browser:
            browser.enter(link)
            browser.until(browser.is_ready)
            keys = iter("1000" * LABELS)
            while browser.task is not None:
                assert browser.has("#parts img, .part img, main img")
                browser.answer(next(keys))
        told = demo.stdout.read()

    assert demo.returncode == 0
    assert "30 answers, " in told
    assert "week 3, your answers" in told
    assert "pr-monitor show 3 --config demo/config.yaml" in told
