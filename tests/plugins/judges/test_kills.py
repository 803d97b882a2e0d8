"""A process that ends while it asks loses no verdict and forgets no call."""

import os
import signal
import subprocess
import sys
import time

import pytest
from sqlalchemy import text

from monitor.domain.errors import TryLater
from monitor.domain.state import RoundState
from tests.plugins.judges.asking import asking, http_settings
from tests.plugins.judges.endpoint import endpoint, verdict
from tests.workers import ROOT, eventually, has_ended, worker

GROUP = 16
BUDGET = 100


LIFE = """
from pathlib import Path

from monitor.domain import crashpoint
from monitor.storage.database import Database
from tests.plugins.judges.asking import asking, http_settings

store, folder, url, at, number = sys.argv[1:]
kill = killed_at(int(number))
scene = asking(Database(store), http_settings(Path(folder), url, budget={"calls": 100}))
crashpoint.hook = lambda name: name == at and kill()
scene.run(1)
"""


def killed(database, folder, url, point, number):
    store = database.engine.url.render_as_string(hide_password=False)
    with worker(LIFE, store, folder, url, point, number) as life:
        code, _, errors = life.end()
    assert code == -9, errors


@pytest.mark.parametrize(
    ("point", "number", "stored"), [("after judge", 2 * GROUP + 3, 2 * GROUP), ("commit", 11, None)]
)
def test_a_process_that_is_killed_while_it_asks_is_followed_by_one_that_goes_on(
    database, tmp_path, point, number, stored
):
    with endpoint(lambda *_: verdict("no")) as judge:
        killed(database, tmp_path, judge.url, point, number)
        before = len(judge.asked)
        scene = asking(database, http_settings(tmp_path, judge.url, budget={"calls": BUDGET}))
        known = {one["item_id"] for one in scene.judged()}
        assert scene.judging()["calls"] >= before
        scene.run(1)

        again = {line.split("\n")[1] for line in judge.asked[before:]}
    texts = {row["id"]: row["text"] for row in scene.source.rows}
    assert stored is None or len(known) == stored
    assert not {texts[item] for item in known} & again
    assert len(judge.asked) <= scene.judging()["calls"] <= BUDGET
    assert scene.round(1).state is RoundState.LABELING
    assert len(scene.judged()) >= 90 - GROUP


def test_whoever_lost_the_round_asks_no_more(database, tmp_path):
    def taken_over(_, number):
        if number == GROUP:
            with database.write() as connection:
                connection.execute(text("update rounds set attempt = attempt + 1"))
        return verdict("no")

    with endpoint(taken_over) as judge:
        scene = asking(database, http_settings(tmp_path, judge.url))
        with pytest.raises(TryLater, match="taken over by another worker"):
            scene.run(1)

    assert len(judge.asked) == GROUP
    assert scene.round(1).state is RoundState.OPEN
    assert scene.judged() == []


ASKS = """\
import sys
import time
from pathlib import Path
from monitor.judges.ask import JudgeClient
from monitor.plugins.judges.command import CommandJudge, CommandJudgeSettings

settings = CommandJudgeSettings(command=(sys.executable, "-c", sys.argv[1]), positive="yes")
client = JudgeClient(settings, CommandJudge(settings, Path()))
client.session(calls=1, tokens=1, seconds=600).ask([{"text": "an item"}])
"""
SLEEPS = "import os, time; open('pid', 'w').write(f'{os.getpid()}.'); time.sleep(600)"


def test_ctrl_c_waits_for_no_program_and_leaves_none_behind(tmp_path):
    pid = tmp_path / "pid"
    with subprocess.Popen(
        [sys.executable, "-c", ASKS, SLEEPS],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    ) as process:
        while process.poll() is None and not (pid.exists() and pid.read_text().endswith(".")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == -signal.SIGINT

    eventually(lambda: has_ended(int(pid.read_text().rstrip("."))))
