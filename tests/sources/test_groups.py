"""The group of each drawn item, by sources that read tables."""

import sqlite3

import pytest

from monitor.sources.sql import SqlSource
from monitor.sources.table_settings import SqlSettings
from tests.sources.prediction_files import COLUMNS, TWO, WEEK, csv_source

HEADER = ("mail_id", "scored_at", "score", "text", "user")
USERS = ("7", "", " ann ", "Ann", "None", "NULL", "nan")
ROWS = [
    (f"m{i}", f"2026-03-0{3 + i % 3}T10:00:00Z", str(0.2 + 0.6 * (i % 2)), "t", USERS[i % 7])
    for i in range(40)
]
GROUPS = ("7", None, "ann", "Ann", None, None, None)
EXPECTED = {f"m{i}": GROUPS[i % 7] for i in range(40)}


def from_files(folder):
    return csv_source(folder, ROWS, header=HEADER, columns={**COLUMNS, "group": "user"})


def from_a_database(folder):
    with sqlite3.connect(folder / "p.db") as connection:
        connection.execute(
            "create table p (mail_id text, scored_at text, score real, text text, user text)"
        )
        connection.executemany("insert into p values (?, ?, ?, ?, ?)", ROWS)
    columns = {**COLUMNS, "group": "user"}
    settings = {"url": f"sqlite:///{folder / 'p.db'}", "table": "p", "columns": columns}
    return SqlSource(SqlSettings.model_validate({**settings, "threshold": 0.5}), folder)


@pytest.mark.parametrize("source", [from_files, from_a_database])
def test_each_candidate_has_the_group_of_its_row_or_none_without_a_value(tmp_path, source):
    frame = source(tmp_path).scan(WEEK, TWO, 100, "s")

    groups = {each.id: each.group for part in frame.strata for each in part.candidates}
    assert groups == EXPECTED
    assert frame.group_column == "user"
