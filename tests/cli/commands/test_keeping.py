"""What the store keeps: a backup while it is in use, and the texts of one item deleted."""

import json
import sqlite3
import stat
from contextlib import closing

import pytest

from tests.cli.workplace import PEOPLE, save
from tests.csv_files import read_rows


def some_item(place):
    """An item, its text, and the key under which people are asked about it."""
    [(item, shown, key)] = place.query(
        "select i.id, p.shown, t.key from items i join payloads p on p.item_id = i.id"
        " join tasks t on t.item_id = i.id order by i.id limit 1",
    )
    return item, json.loads(shown)["subject"], key


def holders(place, text):
    """Names of files in the folder whose bytes hold a text."""
    return sorted(
        path.name
        for path in place.folder.rglob("*")
        if path.is_file() and text.encode() in path.read_bytes()
    )


def fill(place):
    """Let somebody answer all tasks in a copy of the file, the texts still in it."""
    [path] = (place.folder / "labels").glob("*.csv")
    rows = [{**row, "label": "1", "annotator": "eve"} for row in read_rows(path)]
    return save(path.parent / "filled" / "eve.csv", rows)


def test_forget_deletes_the_text_of_an_item_wherever_the_program_put_it(asked):
    item, text, key = some_item(asked)
    filled = fill(asked)
    asked.run("run-once")
    (asked.folder / "predictions.parquet").unlink()  # theirs, and said to be out of reach

    done = asked.run("forget", item)

    assert done.code == 0
    assert f'"{text}"' not in "".join(map(str, asked.query("select shown from payloads")))
    assert holders(asked, f"{text},") == holders(asked, f'"{text}"') == []
    assert f"{key},,1,eve," in filled.read_text()
    [*_, (reason,)] = asked.query("select reason from round_events order by id")
    assert reason == f"what people were shown of item {item!r} was deleted on request"


def test_forget_says_where_a_text_may_remain_and_its_item_is_still_asked_for(asked):
    item, _, key = some_item(asked)
    [path] = (asked.folder / "labels").glob("*.csv")

    first = asked.run("forget", item)
    again = asked.run("forget", item, "--json")

    assert first.lines[:2] == [
        f"mail round 1: deleted, and taken out of {path}",
        f"what people saw of item {item!r} is gone from 1 round; labels stay",
    ]
    assert "- backups of the store, until they are older than you keep them" in first.lines
    told = json.loads(again.out)
    assert told["rounds"] == [
        {"monitor": "mail", "round": 1, "deleted": False, "places": [], "reached": True}
    ]
    assert len(told["out_of_reach"]) == 3
    exported = asked.as_json("labels", "export")["tasks"]
    assert len(exported) == 40
    assert [task for task in exported if task["task"] == key] == [{"task": key}]


def test_an_item_that_no_round_holds_is_said_with_where_ids_stand(asked):
    done = asked.run("forget", "m-nobody")

    assert done.code == 65
    assert done.lines == [
        "pr-monitor: no round holds an item 'm-nobody'; ids stand in the predictions, in the "
        "column that source.columns.id names"
    ]


def test_an_item_of_a_monitor_that_was_removed_is_forgotten_but_for_its_files(asked):
    item, *_ = some_item(asked)
    asked.config(PEOPLE, name=("name: mail", "name: spam"))

    told = asked.as_json("forget", item)

    assert [(each["deleted"], each["reached"]) for each in told["rounds"]] == [(True, False)]
    assert told["out_of_reach"][0] == (
        "label files of mail, a monitor that the config no longer has"
    )


def test_a_round_that_somebody_works_on_is_left_alone_and_said(asked):
    item, *_ = some_item(asked)
    asked.query(
        "update rounds set claimed_by = 'another machine',"
        " claimed_until = (strftime('%s', 'now') + 600) * 1000"
    )

    done = asked.run("forget", item)

    assert done.code == 75
    assert done.lines == [
        "pr-monitor: another worker is busy with round 1 of mail; nothing of it was deleted, run "
        "the same command again"
    ]
    assert asked.query("select count(*) from payloads") == [(40,)]


def test_a_backup_holds_the_store_and_says_where_it_is(asked):
    done = asked.run("backup", "copy.db")

    assert done.code == 0
    assert done.out.startswith(f"sqlite:///{asked.folder}/monitor.db copied to copy.db (")
    assert done.out.endswith(" MB), checked\n")
    tables = ("store", "rounds", "items", "payloads", "tasks", "round_events")
    for name in tables:
        sql = f"select * from {name}"
        assert asked.query(sql, store="copy.db") == asked.query(sql)
    assert stat.S_IMODE((asked.folder / "copy.db").stat().st_mode) & 0o007 == 0


def test_a_backup_is_not_written_over_unless_asked(asked):
    asked.write("copy.db", "dear to me")

    refused = asked.run("backup", "copy.db")
    kept = (asked.folder / "copy.db").read_text()
    taken = asked.run("backup", "copy.db", "--replace", "--json")

    assert refused.code == 65
    assert refused.lines == [
        "pr-monitor: copy.db already exists; name another file, or replace it with --replace"
    ]
    assert kept == "dear to me"
    assert json.loads(taken.out) == {
        "path": "copy.db",
        "bytes": (asked.folder / "copy.db").stat().st_size,
    }


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("monitor.db", "monitor.db is the store itself; name another file"),
        ("labels", "labels is a folder; name a file in it"),
        ("nowhere/copy.db", "there is no folder nowhere; create it first"),
    ],
)
def test_a_place_where_no_backup_can_stand_is_refused(asked, path, said):
    done = asked.run("backup", path, "--replace")

    assert (done.code, done.lines) == (65, [f"pr-monitor: {said}"])


def test_a_store_on_postgresql_is_left_to_its_own_tool(place, postgres_url):
    place.config(store=("sqlite:///monitor.db", postgres_url))
    place.run("db", "upgrade")

    done = place.run("backup", "copy.db")

    assert done.code == 78
    assert done.err.rstrip().endswith("its own tool: pg_dump --format=custom --file=PATH")
    assert not (place.folder / "copy.db").exists()


def test_a_new_store_is_not_for_everybody_on_the_machine(storeless):
    storeless.run("db", "upgrade")

    assert stat.S_IMODE((storeless.folder / "monitor.db").stat().st_mode) & 0o007 == 0


def test_what_was_deleted_stands_in_no_free_page_and_in_no_log_of_the_store(asked):
    item, text, _ = some_item(asked)
    (asked.folder / "predictions.parquet").unlink()
    before = holders(asked, f'"{text}"')

    with closing(sqlite3.connect(asked.folder / "monitor.db")) as service:
        service.execute("select 1 from rounds").fetchall()  # keeps the log from being removed
        asked.run("forget", item)
        while_in_use = holders(asked, f'"{text}"')

    assert [name for name in before if name.startswith("monitor.db")]
    assert while_in_use == []
