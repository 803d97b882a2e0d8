"""Predictions in a database, from `init` to a round, on the command line."""

import csv
import sqlite3
from datetime import timedelta

import pytest

from monitor.config.load import load_config
from monitor.labeling.column import ColumnSettings
from monitor.sources.table_settings import SqlSettings
from tests.cli.workplace import COLUMN
from tests.engine import engine
from tests.sources.sql.databases import Place

DATABASE = ("path: predictions.parquet", "kind: sql\n      url: {url}\n      table: scored")


@pytest.fixture
def stored(bare):
    """A folder with a SQLite file of predictions."""
    verdict = "case when i % 10 = 0 then 'spam' else 'ham' end"
    bare.predictions(score="(i % 100) / 100", verdict=verdict)
    bare.stored_predictions()
    return bare


def source_of(place):
    source = load_config(place.folder / "config.yaml").monitors[0].source
    assert isinstance(source, SqlSettings)
    return source


def config_of(place, url, labeling="{kind: files}"):
    place.config(labeling, database=(DATABASE[0], DATABASE[1].format(url=url)))


@pytest.mark.usefixtures("uncosted")
def test_init_writes_a_config_for_a_table_that_can_be_used_at_once(stored, monkeypatch):
    monkeypatch.setenv("WHERE", "p.sqlite")
    wrote = stored.run("init", "sqlite:///${WHERE}", "--table", "scored")

    checked = stored.run("check")

    assert (wrote.code, checked.code) == (0, 0), checked.err
    source = source_of(stored)
    assert (source.kind, source.table, source.columns.id) == ("sql", "scored", "mail_id")
    assert any(line.startswith("ok       source of scored: ") for line in checked.lines)
    assert 'url: "sqlite:///${WHERE}"' in (stored.folder / "config.yaml").read_text()


@pytest.mark.usefixtures("uncosted")
def test_init_takes_the_truth_from_a_column_of_the_table(stored):
    words = ("--table", "scored", "--label", "verdict")

    stored.run("init", "sqlite:///p.sqlite", *words)

    labeling = load_config(stored.folder / "config.yaml").monitors[0].labeling
    assert isinstance(labeling, ColumnSettings)
    assert (labeling.value, labeling.path, labeling.table) == ("verdict", None, None)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["sqlite:///p.sqlite"], 2, "this is the address of a database, name its table or view"),
        (["sqlite:///p.sqlite", "--table", "scord"], 65, "did you mean 'scored'?"),
        (["sqlite:///gone.sqlite", "--table", "scored"], 65, "there is no file"),
        (["postgresql://u:canary@h/d", "--table", "t"], 65, "do not write a password into the"),
        (["postgresql://u:${NO_SUCH}@h/d", "--table", "t"], 65, "has no variable NO_SUCH"),
        (["oracle://h/d", "--table", "t"], 65, "oracle is not known here"),
    ],
)
def test_init_refuses_what_it_cannot_use(stored, words, code, said):
    ended = stored.run("init", *words)

    assert ended.code == code
    assert said in " ".join(ended.err.split())
    assert "canary" not in ended.err
    assert not (stored.folder / "config.yaml").exists()


@pytest.mark.postgresql
def test_a_round_from_a_server_is_estimated_as_one_from_files(bare, postgres_url):
    bare.predictions()
    server = Place("postgresql", postgres_url)
    server.run(
        "create table scored (mail_id text, scored_at timestamptz, score float8, subject text, "
        "is_travel integer)"
    )
    with engine() as connection:
        found = connection.execute(
            "select * replace (scored_at::varchar as scored_at) from 'predictions.parquet'"
        )
        names = [column[0] for column in found.description]
        server.add("scored", [dict(zip(names, row, strict=True)) for row in found.fetchall()])
    server.close()
    config_of(bare, postgres_url, COLUMN.replace("path: predictions.parquet, ", ""))
    bare.run("run-once")

    bare.assert_sizes_are_those_of_files()


OUTCOMES = "{{kind: column, {}, id: item, value: outcome, time: known, matures: 1d, deadline: 2d}}"


def test_truth_that_arrives_in_another_table_closes_a_round_as_the_same_in_a_file_would(stored):
    config_of(stored, "sqlite:///p.sqlite", OUTCOMES.format("table: outcomes"))
    rows = [(f"m{i:04}", int(i % 7 == 0), stored.now.isoformat()) for i in range(800)]
    rows += [(f"m{i:04}", 1, (stored.now - timedelta(days=9)).isoformat()) for i in range(50)]

    early = stored.run("run-once")
    with sqlite3.connect(stored.folder / "p.sqlite") as connection:
        connection.execute("create table outcomes (item text, outcome, known text)")
        connection.executemany("insert into outcomes values (?, ?, ?)", rows)
    connection.close()
    checked = stored.run("check")
    stored.run_at(stored.now + timedelta(minutes=2), "run-once")
    by_table = stored.as_json("show", "1")
    with (stored.folder / "truth.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("item", "outcome", "known"), *rows])
    config_of(stored, "sqlite:///p.sqlite", OUTCOMES.format("path: truth.csv"))
    stored.run_at(stored.now + timedelta(minutes=4), "run-once")
    by_file = stored.as_json("show", "1")

    assert early.code == 65
    assert "(labeling.table outcomes): there is no such table" in early.err
    assert "items from" in next(line for line in checked.lines if "labels of mail" in line)
    assert by_table["state"] == "closed"
    assert by_table["version"] == by_file["version"] == 1
    assert by_table["estimates"] == by_file["estimates"]
