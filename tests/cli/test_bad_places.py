"""A store, an MLflow or a folder that cannot be reached: the sentence, and the exit code."""

import json

import pytest

from monitor.storage import schema
from tests.cli.workplace import NOWHERE

POSTGRES = "postgresql+psycopg://me@127.0.0.1:9/monitor"
NO_MLFLOW = f"MLflow at {NOWHERE} does not answer (connection refused)"


def test_a_store_without_tables_is_told_by_db_check(storeless):
    place = storeless
    before, made, after = (place.run("db", word) for word in ("check", "upgrade", "check"))

    store = f"sqlite:///{place.folder}/monitor.db"
    no_tables = f"pr-monitor: the store {store} holds no tables yet; run: pr-monitor db upgrade"
    assert (before.code, before.lines) == (78, [no_tables])
    newest = schema.revisions()[-1]
    assert (made.code, made.lines) == (0, [f"{store}: tables created (schema {newest})"])
    assert (after.code, after.lines) == (0, [f"{store} holds this version's tables"])


@pytest.mark.parametrize("words", [["run-once"], ["db", "upgrade"]])
def test_a_store_that_does_not_answer(place, words):
    place.config(store=("sqlite:///monitor.db", POSTGRES))

    done = place.run(*words)

    assert done.code == 75
    [line] = done.lines
    assert line.startswith(f"pr-monitor: the store {POSTGRES} cannot be used now: connection")
    assert line.endswith("Nothing changed, or it is unknown whether it did; running again is safe")


def test_a_restored_store_waits_for_an_mlflow_that_does_not_answer(place):
    done = place.run("db", "upgrade"), place.run("db", "restored")

    again = "run this again once that is fixed; it goes on from where it was"
    assert done[1].code == 75
    assert done[1].err.startswith(f"mail: {NO_MLFLOW}")
    assert done[1].lines[-1] == again
    assert json.loads(place.run("rounds", "--json").out)["rounds"] == []


def test_a_folder_for_labels_that_cannot_be_written(place):
    place.config("{kind: files, folder: config.yaml/labels}")

    checked, ran = place.run("check"), place.run("run-once")

    sentence = (
        f"labeling.folder: {place.folder}/config.yaml/labels cannot be written: not a directory; "
        "let this user write there, or name another folder"
    )
    assert f"PROBLEM  labels of mail: {sentence}" in checked.lines
    assert f"mail: {sentence}" in ran.err.splitlines()
    assert ran.code == 65
    assert f"  problem: round 1 waits: {sentence}" in place.run("status").lines


def test_an_export_to_where_nothing_can_be_written(asked):
    done = asked.run("labels", "export", "--out", "config.yaml/labels/todo.csv")

    sentence = "config.yaml/labels/todo.csv cannot be written: not a directory"
    assert (done.code, done.lines) == (65, [f"pr-monitor: {sentence}"])


def test_an_init_over_a_config_that_is_there(place):
    done = place.run("init", "predictions.parquet")

    sentence = "config.yaml is there already; move it away or name another with --config"
    assert (done.code, done.lines) == (65, [f"pr-monitor: {sentence}"])
