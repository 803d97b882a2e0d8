"""Predictions in a database, from `init` to a round, on the command line."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

import pytest

from monitor.config.load import load_config
from monitor.sources.sql_settings import SqlSettings

DATABASE = ("path: predictions.parquet", "kind: sql\n      url: {url}\n      table: scored")


@pytest.fixture
def stored(bare):
    """A folder with a SQLite file of predictions."""
    step = timedelta(days=4) / 800
    with sqlite3.connect(bare.folder / "p.sqlite") as connection:
        connection.execute(
            "create table scored (mail_id text, scored_at text, score real, verdict text, "
            "subject text)"
        )
        connection.executemany(
            "insert into scored values (?, ?, ?, ?, ?)",
            [
                (
                    f"m{i:04}",
                    (bare.now - timedelta(days=4) + i * step).isoformat(),
                    (i % 100) / 100,
                    "spam" if i % 10 == 0 else "ham",
                    f"subject {i}",
                )
                for i in range(800)
            ],
        )
    connection.close()
    return bare


def source_of(place):
    source = load_config(place.folder / "config.yaml").monitors[0].source
    assert isinstance(source, SqlSettings)
    return source


def config_of(place, url, **changes):
    place.config("{kind: files}", database=(DATABASE[0], DATABASE[1].format(url=url)), **changes)


def test_init_writes_a_config_for_a_table_that_can_be_used_at_once(stored):
    wrote = stored.run("init", "sqlite:///p.sqlite", "--table", "scored")

    checked = stored.run("check")

    assert (wrote.code, checked.code) == (0, 0), checked.err
    source = source_of(stored)
    assert (source.kind, source.table, source.columns.id) == ("sql", "scored", "mail_id")
    assert any(line.startswith("ok       source of scored: ") for line in checked.lines)


def test_init_names_the_values_of_the_other_class_of_a_table_too(stored):
    stored.run(
        *("init", "sqlite:///p.sqlite", "--table", "scored"),
        *("--predicted", "verdict", "--positive", "spam"),
    )

    source = source_of(stored)
    assert (source.positive, source.negative) == ("spam", ("ham",))


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["sqlite:///p.sqlite"], 2, "this is the address of a database, name its table or view"),
        (["sqlite:///p.sqlite", "--table", "scord"], 65, "did you mean 'scored'?"),
        (["sqlite:///gone.sqlite", "--table", "scored"], 65, "there is no file"),
        (["postgresql://u:canary@h/d", "--table", "t"], 65, "a password may not stand in the"),
        (["postgresql://u:${NO_SUCH}@h/d", "--table", "t"], 65, "has no variable NO_SUCH"),
        (["sqlite:///p.sqlite", "--table", "scored", "--label", "verdict"], 65, "is for files"),
        (["oracle://h/d", "--table", "t"], 65, "oracle is not known here"),
    ],
)
def test_init_refuses_what_it_cannot_use(stored, words, code, said):
    ended = stored.run("init", *words)

    assert ended.code == code
    assert said in " ".join(ended.err.split())
    assert "canary" not in ended.err
    assert not (stored.folder / "config.yaml").exists()


def test_init_keeps_the_variables_of_an_address(stored, monkeypatch):
    monkeypatch.setenv("WHERE", "p.sqlite")

    stored.run("init", "sqlite:///${WHERE}", "--table", "scored")

    assert 'url: "sqlite:///${WHERE}"' in (stored.folder / "config.yaml").read_text()
    assert stored.run("check").code == 0


def test_a_round_is_drawn_and_shown_from_a_table(stored):
    config_of(stored, "sqlite:///p.sqlite")

    ran = stored.run("run-once")

    assert "mail: round 1" in ran.out
    [tasks] = stored.folder.glob("labels/*.csv")
    assert "subject" in tasks.read_text()


def test_a_password_in_the_address_is_told_nobody(stored, monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", "canary/0123")
    config_of(stored, '"postgresql://u:${DB_PASSWORD}@127.0.0.1:9/d"')

    checked, ran = stored.run("check"), stored.run("run-once")

    assert (checked.code, ran.code) == (75, 75)
    assert "PROBLEM  source of mail" in checked.out
    assert "canary" not in "".join([*checked.lines, *ran.lines])


def test_a_password_that_stands_in_the_config_is_refused(stored):
    config_of(stored, "postgresql://u:canary@127.0.0.1:9/d")

    checked = stored.run("check")

    assert checked.code == 78
    assert "a password may not stand in this file" in checked.err
    assert "canary" not in checked.err
