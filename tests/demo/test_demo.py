import json
import re
import sqlite3
from contextlib import closing
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from monitor.demo.digits import Camera, Confusion, DigitScenario
from monitor.demo.folder import MARKER, limits_of, prepare
from monitor.demo.play import play, ui_command
from monitor.domain.errors import InputRefused
from monitor.results.result import dump

SHORT = DigitScenario(
    rounds=4, drop_round=3, images=2000, reference=3000, labels=300, lost_pixels=0.3
)


@pytest.fixture(scope="module")
def camera():
    return Camera(DigitScenario())


def pooled_recall(weeks):
    return sum(week.tp for week in weeks) / sum(week.tp + week.fn for week in weeks)


def count(database, query):
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


# --- the traffic ---


def test_the_same_seed_gives_the_same_week_however_many_weeks_there_are(camera):
    again = Camera(DigitScenario(rounds=6)).week(2)
    week = camera.week(2)

    np.testing.assert_array_equal(week.score, again.score)
    np.testing.assert_array_equal(week.is_eight, again.is_eight)
    assert (week.ids, week.scored_at) == (again.ids, again.scored_at)


def test_a_few_percent_of_several_thousand_images_are_eights_and_are_flagged(camera):
    week = camera.week(1)
    seen = week.confusion

    assert 5000 < seen.size < 7000
    assert 0.03 < week.is_eight.mean() < 0.05
    assert 0.02 < (seen.tp + seen.fp) / seen.size < 0.05
    assert 0 <= week.score.min() < week.score.max() <= 1
    assert week.score.mean() == pytest.approx(week.is_eight.mean(), abs=0.015)
    ids = [each for of in (week, camera.week(2), camera.reference()) for each in of.ids]
    assert len(set(ids)) == len(ids)


def test_the_noisy_camera_costs_twenty_two_points_of_recall_and_before_limits_are_kept(camera):
    drop = camera.scenario.drop_round
    limits = limits_of(camera.reference().confusion, camera.scenario.room)
    weeks = [camera.week(number).confusion for number in range(drop - 4, drop)]
    noisy = [camera.week(number).confusion for number in range(drop, drop + 4)]

    assert 0.18 < pooled_recall(weeks) - pooled_recall(noisy) < 0.28
    assert np.mean([week.precision for week in weeks]) > limits["precision"]
    assert np.mean([week.recall for week in weeks]) > limits["recall"]


def test_limits_are_rounded_down_to_full_points():
    limits = limits_of(Confusion(tp=70, fp=10, fn=29, tn=891), room=0.05)

    assert limits == {"precision": 0.82, "recall": 0.65}


# --- the folder ---


def test_a_folder_that_holds_something_else_is_refused_and_left_as_it_is(tmp_path):
    (tmp_path / "config.yaml").write_text("mine")

    with pytest.raises(InputRefused, match="not empty and holds no demo"):
        prepare(tmp_path)
    with pytest.raises(InputRefused, match="is a file"):
        prepare(tmp_path / "config.yaml")

    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_starting_over_removes_what_a_demo_made_and_nothing_else(tmp_path):
    assert not prepare(tmp_path / "demo")
    for name in ("monitor.db", "monitor.db-wal", "notes.txt"):
        (tmp_path / "demo" / name).write_text("x")
    for name in ("mlartifacts/1", "pictures"):
        (tmp_path / "demo" / name).mkdir(parents=True)

    assert prepare(tmp_path / "demo")

    left = {path.name for path in (tmp_path / "demo").iterdir()}
    assert left == {MARKER, "notes.txt"}


def test_a_link_in_the_place_of_our_own_folder_is_not_followed(tmp_path):
    prepare(tmp_path / "demo")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("mine")
    (tmp_path / "demo" / "mlartifacts").symlink_to(tmp_path / "kept")

    prepare(tmp_path / "demo")

    assert (tmp_path / "kept" / "file").read_text() == "mine"


# --- the command that opens MLflow ---


def test_the_command_names_the_mlflow_that_is_not_on_the_path_by_its_place(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    for name in ("python", "mlflow"):
        (tmp_path / "bin" / name).touch()
    monkeypatch.setattr("sys.executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.chdir(tmp_path)

    command = ui_command(tmp_path / "my demo")

    assert command.startswith("bin/mlflow ui ")
    assert f"'sqlite:///{tmp_path}/my demo/mlflow.db'" in command
    assert command.endswith("--port 5000")


# --- all of it ---


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("played") / "demo"
    shown = StringIO()
    result = play(folder, console=Console(file=shown, width=100), scenario=SHORT)
    return result, shown.getvalue()


def test_a_demo_leaves_its_rounds_in_sql_and_as_many_runs_in_mlflow(played):
    result, _ = played

    rounds = count(result.folder / "monitor.db", "select number, state from rounds order by slot")
    runs = count(
        result.folder / "mlflow.db",
        "select e.name, count(*) from runs join experiments e using (experiment_id) group by 1",
    )
    waiting = count(result.folder / "monitor.db", "select * from waiting_effects")

    assert rounds == [(number, "closed") for number in range(1, 5)]
    assert dict(runs) == {"monitor": 1, "monitor/digits-eight": 4}
    assert waiting == []
    assert result.failed == {}


def test_a_large_drop_is_found_at_once_and_nothing_before_it(played):
    result, _ = played

    assert result.found
    assert result.fired_round in {3, 4}


def test_the_end_tells_how_many_intervals_hold_the_true_value(played):
    result, shown = played

    told = json.loads(json.dumps(dump(result)))
    held, intervals = result.held
    inside = [
        one.alone[metric].low <= one.truth.of(metric) <= one.alone[metric].high
        for one in result.rounds
        for metric in one.alone
    ]

    assert (held, intervals) == (sum(inside), 8)
    assert [sum(each["labeled"].values()) for each in told["rounds"]] == [300] * 4
    assert f"{held} of 8 intervals hold the true value. Labels spent: 1,200 of " in shown


def test_what_is_printed_fits_a_terminal_and_holds_no_control_codes(played):
    result, shown = played
    lines = shown.splitlines()

    assert "\x1b" not in shown
    assert all(str(result.folder) in line for line in lines if len(line) > 100)
    assert [line.strip() for line in lines[-2:]] == [result.command, result.page]
    assert re.fullmatch(
        r"http://127\.0\.0\.1:5000/#/experiments/\d+/runs\?workflowType=machine_learning",
        result.page,
    )
    assert sum(line.startswith(tuple(f"{n:>5}  2025-" for n in range(1, 5))) for line in lines) == 4
