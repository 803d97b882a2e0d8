"""The commands as a new user meets them: what each says and writes, and its exit code."""

import re
import shlex
import shutil
from datetime import timedelta

import duckdb
import pytest

from monitor.config.load import load_config
from monitor.sources.table_settings import DuckdbSettings
from tests.cli.workplace import NOWHERE


def only_source(config):
    [monitor] = load_config(config).monitors
    assert isinstance(monitor.source, DuckdbSettings)
    return monitor.source


@pytest.mark.usefixtures("uncosted")
@pytest.mark.parametrize("name", ["predictions.parquet", "predictions.csv"])
def test_init_writes_a_config_that_can_be_used_at_once(bare, name):
    bare.predictions(name)

    wrote = bare.run("init", name)

    assert wrote.lines[1] == "took 0.5 as the threshold: items are flagged from it on"
    assert wrote.lines[-1] == "wrote config.yaml; read it, then run: pr-monitor check"
    source = only_source("config.yaml")
    assert (source.path, source.columns.id) == (name, "mail_id")
    bare.write("config.yaml", open_to_nowhere(bare))
    found = [line.split()[0] for line in bare.run("check").lines]
    assert found == ["ok", "ok", "ok", "ok", "PROBLEM"]


def open_to_nowhere(place):
    return (place.folder / "config.yaml").read_text().replace("sqlite:///mlflow.db", NOWHERE)


@pytest.mark.usefixtures("uncosted")
def test_init_reads_a_table_of_a_duckdb_file(bare):
    bare.predictions()
    with duckdb.connect("store.duckdb") as connection:
        connection.execute("create table scored as from 'predictions.parquet'")

    wrote = bare.run("init", "store.duckdb", "--table", "scored", "--label", "is_travel")

    assert wrote.code == 0
    [monitor] = load_config("config.yaml").monitors
    assert only_source("config.yaml").table == "scored"
    assert getattr(monitor.labeling, "table", None) == "scored"
    bare.write("config.yaml", open_to_nowhere(bare))
    assert [line.split()[0] for line in bare.run("check").lines[:4]] == ["ok"] * 4


@pytest.mark.usefixtures("uncosted")
def test_init_writes_paths_as_the_folder_of_the_config_sees_them(bare):
    (bare.folder / "etc").mkdir()
    bare.predictions()

    wrote = bare.run("init", "predictions.parquet", "--config", "etc/mail.yaml")

    command = "pr-monitor check --config etc/mail.yaml"
    assert wrote.lines[-1] == f"wrote etc/mail.yaml; read it, then run: {command}"
    assert only_source("etc/mail.yaml").path == "../predictions.parquet"


@pytest.mark.usefixtures("uncosted")
def test_the_command_that_init_asks_with_can_be_copied(bare):
    bare.predictions("mails of may.csv", score="['spam', 'ham'][1 + (i % 10 > 0)::int]")

    asked = bare.run("init", "mails of may.csv", "--config", "mail.yaml")
    [command] = [line for line in asked.err.splitlines() if line.startswith("  pr-monitor ")]
    wrote = bare.run(*shlex.split(command)[1:])

    assert (asked.code, wrote.code) == (65, 0)
    source = only_source("mail.yaml")
    assert (source.columns.predicted, source.positive) == ("score", "spam")


def test_check_says_that_another_model_version_begins_a_new_history(closed):
    closed.predictions(version="'7'")
    closed.config(version=("show: [subject]", "show: [subject], model_version: version"))

    warned = closed.run("check").lines

    assert (
        "LOOK     source of mail: model version not set -> 7: the next round begins a new history: "
        "estimates with earlier rounds start again; evidence and open alerts "
        "stay"
    ) in warned


def test_check_says_what_it_found(place):
    done = place.run("check")

    window = f"{place.at(place.slot - timedelta(days=1))} to {place.at(place.slot)} UTC"
    assert done.lines[:4] == [
        "ok       config: config.yaml",
        f"ok       store: sqlite:///{place.folder}/monitor.db",
        f"ok       source of mail: 200 predictions in the newest window, {window}, 20 flagged",
        "ok       labels of mail: column is_travel of predictions.parquet; 20 of 20 flagged and "
        f"180 of 180 passed items from {window} have a label",
    ]


def test_run_once_says_when_the_next_round_is_due_when_nothing_is(closed, mlflow_tables):
    shutil.copy(mlflow_tables, closed.folder / "mlflow.db")
    closed.config(mlflow="sqlite:///mlflow.db")  # so that nothing is left to do
    closed.run("run-once")

    done = closed.run("run-once")

    following = closed.at(closed.slot + timedelta(days=1))
    assert done.lines[0] == f"mail: nothing due; the next round is due {following} UTC"


def test_missed_rounds_that_follow_one_another_share_a_line(place):
    place.run_at(place.slot - timedelta(days=3), "run-once")

    done = place.run("run-once")

    first, last = (place.at(place.slot - timedelta(days=days)) for days in (2, 1))
    newest = f"missed: the newest due slot is {place.at(place.slot)} UTC"
    skipped = f"mail: rounds 2 to 3 (due {first} to {last} UTC) are skipped: {newest}"
    assert skipped in done.out.splitlines()


def test_backfill_fills_every_window_once(filled):
    again = filled.run("backfill", "--from", f"{filled.slot - timedelta(days=8):%Y-%m-%d}")

    first, last = (filled.at(filled.slot - timedelta(days=days)) for days in (7, 0))
    sentence = f"mail: 8 of 8 windows filled, due {first} to {last} UTC: 8 closed"
    assert sentence in filled.said.out.splitlines()
    assert again.out == "mail: no window to fill; rounds that ended before stay as they are\n"


def test_an_alert_is_listed_ended_by_hand_and_kept(filled):
    [alert] = filled.as_json("alerts")["alerts"]
    status = filled.run("status")
    begin = alert["id"][:8]

    unset = filled.run("alerts", "resolve", "", "--reason", "a variable that is not set")
    ended = filled.run("alerts", "resolve", begin, "--reason", "the label rule changed")

    assert unset.code != 0
    assert "mail: ALERT" in status.lines
    assert any(f"  alert {begin}: recall at least 0.95, firing" in line for line in status.lines)
    assert ended.lines == [f"resolved {begin}: mail, recall at least 0.95"]
    [row] = filled.run("alerts").lines[2:]
    assert row.startswith(f"{begin}  mail     recall at least 0.95  resolved  fired ")
    assert row.endswith(": the label rule changed")
    assert re.search(r"by round \d, on the predictions of \S+ \S+ to \S+ \S+ UTC, until ", row)


def test_the_variable_names_the_config_where_no_option_does(place, monkeypatch):
    (place.folder / "config.yaml").rename(place.folder / "other.yaml")
    monkeypatch.setenv("PR_MONITOR_CONFIG", "other.yaml")

    assert place.run("status").code == 0
