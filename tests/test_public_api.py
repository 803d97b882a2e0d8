"""What `import monitor` offers in a notebook."""

import json
import math
import shutil
from dataclasses import replace
from typing import cast

import pandas as pd
import pytest

import monitor
from monitor.domain.errors import ConfigRefused, InputRefused, SchemaMismatch
from tests.cli.workplace import Workplace, working_in
from tests.coarse import coarse, coarsely  # noqa: F401  a fixture
from tests.drawing import looking

MATRIX = {"tp": 138, "fp": 22, "fn": 108, "tn": 4732, "flagged_size": 160, "passed_size": 4840}
KEYS = {"metric", "estimand", "basis", "point", "low", "high", "level", "method"}


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """A folder with one closed round."""
    with coarse(), working_in(tmp_path_factory.mktemp("closed")) as closed:
        closed.predictions()
        closed.config()
        closed.run("run-once")
    return closed


@pytest.fixture
def place(closed, tmp_path, monkeypatch):
    """A copy of it."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(closed.folder, tmp_path, dirs_exist_ok=True)
    return replace(closed, folder=tmp_path)


def test_the_package_exports_these_names_and_lists_no_others():
    functions = ["compare", "estimate", "evaluate", "evaluate_judge", "history", "plan"]
    assert monitor.__all__ == ["ConfigRefused", "InputRefused", "TryLater", *functions]
    assert dir(monitor) == sorted(monitor.__all__)


def test_what_the_functions_raise_is_caught_by_a_public_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(monitor.ConfigRefused, match=r"config\.yaml"):
        monitor.history()
    with pytest.raises(monitor.InputRefused, match="tp is -1"):
        monitor.estimate(**MATRIX | {"tp": -1})
    store = "postgresql+psycopg://user@127.0.0.1:9/none"
    Workplace(tmp_path).config(store=("sqlite:///monitor.db", store))
    with pytest.raises(monitor.TryLater, match="running again is safe"):
        monitor.history()


def looked_at(result):
    """Check that a result reads as text and in a notebook, and converts."""
    assert repr(result) == str(result)
    assert "<table" in result._repr_html_()
    assert isinstance(result.to_frame(), pd.DataFrame)
    assert json.loads(json.dumps(result.to_dict())).keys() == dict(result).keys()


def test_every_result_reads_as_the_command_and_converts(place):
    words = [w for name, n in MATRIX.items() for w in (f"--{name.replace('_', '-')}", n)]
    found = monitor.estimate(**MATRIX)

    looked_at(found)
    picture = looking.at(found.plot()._repr_svg_().encode())
    assert picture.title == "Rates of the classifier, 95% intervals"
    assert repr(found) + "\n" == place.run("estimate", *words).out
    assert found.to_dict() == place.as_json("estimate", *words)
    assert found.estimate("recall")["point"] == pytest.approx(0.561, abs=0.001)

    plan = monitor.plan("mail", labels=100)
    looked_at(plan)
    assert repr(plan) + "\n" == place.run("plan", "mail", "--labels", 100).out
    assert plan["labels"] == sum(plan.to_frame()["labels"])

    compared = monitor.compare(1, threshold=0.7)
    looked_at(compared)
    assert compared.plot().svg
    assert repr(compared) + "\n" == place.run("compare", 1, "--threshold", 0.7).out
    assert set(compared.to_frame()["of"]) == {"as it is", "threshold 0.7", "difference"}

    history = monitor.history()
    looked_at(history)
    assert history.plot("recall").save("recall.svg").read_bytes() == history.plot("recall").svg


def test_a_picture_that_there_is_none_of_is_refused_by_name(place):
    found = monitor.estimate(tp=0, fp=0, fn=0, tn=0, flagged_size=0, passed_size=0)

    with pytest.raises(InputRefused, match="no metric could be estimated"):
        found.plot()
    with pytest.raises(InputRefused, match="precision and recall can be drawn"):
        monitor.history("mail").plot("f1")
    with pytest.raises(InputRefused, match="give a threshold, or predictions"):
        monitor.compare(1)


def test_an_estimate_has_the_promised_keys_and_order():
    estimates = monitor.estimate(**MATRIX)["estimates"]

    assert all(set(estimate) >= KEYS for estimate in estimates)
    assert [(estimate["metric"], estimate["estimand"]) for estimate in estimates[:2]] == [
        ("precision", "rate"),
        ("recall", "rate"),
    ]
    assert all(estimate["low"] <= estimate["point"] <= estimate["high"] for estimate in estimates)


def test_a_history_is_a_table_with_a_row_for_each_estimate(place):
    frame = monitor.history("mail").to_frame()

    assert isinstance(frame, pd.DataFrame)
    assert set(frame["round"]) == {1}
    assert KEYS | {"slot", "version", "reason"} <= set(frame.columns)
    assert not frame.duplicated(["round", "metric", "estimand", "basis"]).any()
    assert frame["slot"].iloc[0] == pd.Timestamp(place.slot)


def test_a_history_holds_the_numbers_of_the_command(place):
    [told] = place.as_json("rounds")["rounds"]
    shown = told["estimates"][0]

    frame = monitor.history("mail").to_frame()

    same = [frame[key] == shown[key] for key in ("metric", "estimand", "basis")]
    [point] = frame[same[0] & same[1] & same[2]]["point"]
    assert math.isclose(point, shown["point"])


def test_a_history_of_a_monitor_without_rounds_is_an_empty_table(tmp_path):
    place = Workplace(tmp_path)
    place.config()
    place.run("db", "upgrade", "--config", tmp_path / "config.yaml")

    history = monitor.history("mail", tmp_path / "config.yaml")

    assert history.to_frame().empty
    assert repr(history) == "mail: no round is closed yet"


def test_a_history_needs_a_monitor_of_the_config(place):
    with pytest.raises(ConfigRefused, match="there is no monitor 'post' in the config"):
        monitor.history("post")


def test_a_history_makes_no_tables(tmp_path):
    Workplace(tmp_path).config()

    with pytest.raises(SchemaMismatch, match="holds no tables yet; run: pr-monitor db upgrade"):
        monitor.history("mail", tmp_path / "config.yaml")


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: monitor.compare(1, threshold=math.nan), "threshold is nan; it is a finite number"),
        (lambda: monitor.compare(1, threshold=70), "all scores are shares"),
        (lambda: monitor.compare(1, threshold=cast("float", "0.6")), "threshold is '0.6'; it is"),
        (lambda: monitor.plan(precision=cast("float", "80%")), "precision is '80%'; it is a"),
        (
            lambda: monitor.estimate(**MATRIX | {"tp": cast("int", 1.5)}),
            "tp is 1.5; it counts items",
        ),
        (lambda: monitor.compare(1, threshold=0.5, score="s"), "score names a column of predict"),
        (
            lambda: monitor.compare(1, predictions="o.csv", predicted="up", threshold=0.5),
            "predicted decides which items are flagged; leave out score and threshold",
        ),
        (lambda: monitor.plan("mail", labels=0), "labels is 0; it is a whole number, 2 or more"),
        (
            lambda: monitor.plan("mail", labels=cast("int", 2.5)),
            "labels is 2.5; it is a whole number",
        ),
        (lambda: monitor.plan("mail", size=5000), "size belongs to assumed values"),
        (lambda: monitor.plan("mail", precision_margin=0), "margin"),
    ],
)
def test_what_is_impossible_or_would_lead_to_a_wrong_number_is_refused(place, ask, words):
    with pytest.raises(InputRefused, match=words):
        ask()
