"""Kinds of judges through a config, as a user writes it: a program, a model of MLflow, an LLM."""

import shutil
import sqlite3
import sys
import warnings
from contextlib import closing

import mlflow
import pytest

from tests.cli.workplace import Workplace
from tests.plugins.judges.endpoint import endpoint, verdict

SCHEDULE = "    schedule:"
PROGRAM = f"""\
#!{sys.executable} -IS
import json, os, sys
for line in sys.stdin:
    number = int(json.loads(line)["subject"].split()[1])
    print(json.dumps({{"verdict": "yes" if number % 10 == 0 or number % 20 == 1 else "no"}}))
print(os.environ.get("HOME", "no home"), file=sys.stderr)
"""
CELLS = ("bands: {flagged: 1, passed: 1}", "cells: {flagged: 2, passed: 4}")
LIMITS = ("    labeling:", "    limits: {judge_tpr: 0.7, judge_fpr: 0.2}\n    labeling:")


@pytest.fixture
def place(tmp_path, monkeypatch, store_tables):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PR_MONITOR_CONFIG", raising=False)
    shutil.copy(store_tables, tmp_path / "monitor.db")
    return Workplace(tmp_path)


def with_judge(place, judge, mlflow=None, **changes):
    place.predictions()
    written = {"judge": (SCHEDULE, f"    judge: {judge}\n{SCHEDULE}"), "cells": CELLS} | changes
    place.config(**({} if mlflow is None else {"mlflow": mlflow}), **written)


def test_a_program_gets_json_lines_and_gives_json_lines(place):
    place.write("judge.py", PROGRAM)
    (place.folder / "judge.py").chmod(0o755)
    judge = '{kind: command, command: [./judge.py], positive: "yes", items: 50}'
    with_judge(place, judge, limits=LIMITS)

    checked = place.run("check")
    planned = place.as_json("plan")
    place.backfill(days=2)
    shown = place.run("show", 2)
    row = place.as_json("show", 2)["judge"]
    planned_then = place.run("plan")

    told = checked.line("ok       judge of mail")
    assert "./judge.py, verdict = yes" in told
    assert "says " in told
    assert planned["first_phase"] == {"items": 120, "calls": 2}
    assert row["first_phase"] == 120
    assert row["calls"] == 2
    assert row["missing"] == 0
    assert shown.line("to judge 120 items took 2 calls")
    assert "is asked about 120 items of each round, in 2 calls" in " ".join(planned_then.lines)


def test_a_model_of_mlflow_is_loaded_by_its_alias_and_another_version_is_another_judge(
    place, mlflow_tables
):
    shutil.copy(mlflow_tables, place.folder / "mlflow.db")
    uri = f"sqlite:///{place.folder}/mlflow.db"
    with_judge(
        place,
        '{kind: mlflow_model, model: "models:/second@champion", threshold: 0.5, items: 50}',
        mlflow=uri,
    )
    log_model(uri, place.folder / "artifacts", 10)

    checked = place.run("check")
    place.backfill(days=2)
    log_model(uri, place.folder / "artifacts", 5)
    checked_then = place.run("check")
    rows = [place.as_json("show", number)["judge"] for number in (1, 2)]

    assert "version 1 says " in checked.line("ok       judge of mail")
    assert [row["title"].endswith("version 1") for row in rows] == [True, True]
    assert rows[1]["pooled"]["rounds"] == 2
    assert "version 2 says " in checked_then.line("ok       judge of mail")
    with closing(sqlite3.connect("monitor.db")) as connection:
        verdicts = connection.execute("select distinct judge, verdict from verdicts").fetchall()
    assert len({judge for judge, _ in verdicts}) == 1
    assert {verdict for _, verdict in verdicts} == {"yes", "no"}


def log_model(uri, artifacts, every):
    """Register a version that is positive for each so many subjects, and let the alias name it."""
    before = mlflow.get_tracking_uri()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mlflow.pyfunc.model import PythonModel  # noqa: PLC0415  it warns of its type hints

        class Second(PythonModel):
            def predict(self, model_input):  # type: ignore[override]
                number = model_input["subject"].str.split().str[1].astype(int)
                return ((number % every) == 0).astype(float)

        mlflow.set_tracking_uri(uri)
        try:
            if mlflow.get_experiment_by_name("models") is None:
                mlflow.create_experiment("models", artifact_location=artifacts.as_uri())
            mlflow.set_experiment("models")
            with mlflow.start_run():
                logged = mlflow.pyfunc.log_model(
                    name="model",
                    python_model=Second(),
                    registered_model_name="second",
                    pip_requirements=["mlflow"],
                )
            version = str(logged.registered_model_version)
            mlflow.MlflowClient().set_registered_model_alias("second", "champion", version)
        finally:
            mlflow.set_tracking_uri(before)


def test_check_asks_an_endpoint_once_and_tells_why_it_got_no_verdict(place, monkeypatch):
    monkeypatch.setenv("LLM_KEY", "sk-secret-key")
    place.write("prompt.txt", "Is this {subject} about travel?")
    answers = [verdict("yes"), (401, {}, "sk-secret-key is no key"), (200, {}, "Of course!")]
    with endpoint(lambda _, number: answers[number - 1]) as judge:
        with_judge(
            place,
            f"{{kind: http, url: '{judge.url}', model: small, prompt: prompt.txt, "
            'key: "${LLM_KEY}", positive: "yes", allow_private: true}',
        )
        checked = [place.run("check") for _ in answers]

    assert len(judge.asked) == 3
    assert judge.asked[0].startswith("Is this subject ")
    assert "says yes to an item of the last window" in checked[0].line("judge of mail")
    assert "50 tokens" in checked[0].line("judge of mail")
    assert "it answered 401; is judge.key" in checked[1].line("PROBLEM  judge of mail")
    assert "malformed; a reply must be {" in checked[2].line("PROBLEM  judge of mail")
    assert "sk-secret-key" not in "".join(one.out + one.err for one in checked)


HTTP = "kind: http, model: small, prompt: prompt.txt, positive: 'yes'"
CHALLENGER = "      challenger: {name: b, score: is_travel, threshold: 0.5}"
SAFE = f"{HTTP}, url: 'https://llm.example/v1'"


@pytest.mark.parametrize(
    ("judge", "changes", "said"),
    [
        (f"{HTTP}, url: 'http://llm.example/v1'", {}, "plain http would show the items"),
        (f"{SAFE}, key: sk-1", {}, "a secret may not stand in this file"),
        (SAFE.replace("prompt.txt", "none.txt"), {}, "the file cannot be read"),
        (SAFE.replace("prompt.txt", "wrong.txt"), {}, "{body} is no column of source.columns.show"),
        (SAFE, {"show": (", show: [subject]", "")}, "list that in source.columns.show"),
        (SAFE, {"cells": (CELLS[0], "cells: null")}, "leave out sample.cells: null"),
        (
            SAFE,
            {"more": ("      threshold: 0.5", f"      threshold: 0.5\n{CHALLENGER}")},
            "source.challenger is counted by stratum",
        ),
        (f"{SAFE}, negative: 'yes'", {}, "would mean both yes and no"),
        ("kind: mlflow_model, model: second, positive: 1", {}, "write models:/NAME/VERSION"),
        ("kind: command, command: [], positive: 1", {}, "judge.command"),
        ("kind: oracle, positive: 1", {}, "'oracle' is not known"),
    ],
)
def test_what_an_asked_judge_does_not_go_with_is_refused_by_name(place, judge, changes, said):
    place.write("prompt.txt", "About {subject}")
    place.write("wrong.txt", "About {body}")
    with_judge(place, f"{{{judge}}}", **changes)

    refused = place.run("check")

    assert refused.code == 78
    assert said in refused.err
    assert "monitors[mail].judge" in refused.err
