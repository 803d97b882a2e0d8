"""Labels that are counted whole: the matrices that items have, on each engine."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pytest
import yaml
from sqlalchemy import create_engine, text

from monitor.config.load import load_config
from monitor.domain.errors import ConfigRefused
from monitor.labeling.column import ColumnLabeler
from monitor.rounds import run
from monitor.rounds.open_rounds import open_rounds
from monitor.storage import schema
from monitor.storage.labels import census_store
from monitor.storage.results import part_store
from monitor.storage.rounds import round_store
from monitor.wiring import build
from tests.engine import engine

SLOT = datetime(2025, 3, 10, 6, tzinfo=UTC)
MATURED = SLOT + timedelta(days=40)
COLUMN = {"kind": "column", "path": "truth.parquet", "id": "case_id", "value": "fraud"}
COLUMN |= {"positive": "yes", "negative": "no", "matures": "30d", "late_labels": "365d"}

PREDICTIONS = """
    select 'p' || i as id, timestamptz '2025-03-03 06:00+00' + interval (i) minute as at,
    (hash(i) % 1000) / 1000.0 as score, ['CZ', 'DE', 'PL'][1 + i % 3] as country
    from range(1, 601) t(i)
"""
TRUTH = """
    select ' p' || i as case_id, v as fraud,
        timestamptz '2025-03-09 00:00+00' + interval (n) day as seen
    from range(1, 601) t(i), (values (0, 'yes'), (1, 'no'), (2, 'nan'), (3, 'maybe')) w(n, v)
    where i % 7 < 5 and ((n = 0 and i % 2 = 0) or (n = 1 and i % 5 = 0)
        or (n = 2 and i % 11 = 0) or (n = 3 and i % 97 = 0))
"""


@dataclass
class Fraud:
    """Two monitors of the same predictions and truth, of which one counts all labels."""

    folder: Path
    now: datetime = MATURED
    labeling: Any = None
    source: Any = None
    ways: Any = ("items", "census")
    sample: Any = field(default_factory=dict)

    def __post_init__(self):
        self.write("predictions", PREDICTIONS)
        self.write("truth", TRUTH)

    def write(self, name, query):
        """Write a file of rows."""
        with engine() as connection:
            connection.execute("set TimeZone = 'UTC'")
            connection.execute(f"copy ({query}) to '{self.folder / name}.parquet'")

    def config(self, **labeling):
        """Write the config; both monitors are labeled in the same way."""
        columns = {"id": "id", "time": "at", "score": "score", "segments": ["country"]}
        source = self.source or {"path": "predictions.parquet"}
        one = {
            "source": source | {"columns": columns, "threshold": 0.9},
            "schedule": {"cron": "0 6 10 3 *"},
            "labeling": self.labeling or {**COLUMN, **labeling},
        }
        most = {"items": 200_000, "census": "all", "list": 40}
        monitors = [
            {
                **one,
                "name": way,
                "sample": {"max_labels": most[way], **self.sample},
            }
            for way in self.ways
        ]
        config = {"mlflow": {"tracking_uri": "http://127.0.0.1:9"}, "monitors": monitors}
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config))
        return load_config(self.folder / "config.yaml")

    def play(self, config):
        """Backfill the window of both, or go on with it."""
        application = build(config, clock=lambda: self.now)
        self.database = application.database
        schema.ready(self.database)
        for context in application.monitors:
            [*run.backfill(context, SLOT - timedelta(days=365), SLOT)]
            run.run(context)
        return self

    def read(self, query, *args):
        """Ask the store with one of its functions."""
        with self.database.read() as connection:
            return query(connection, *args)

    def rows(self, query, **named):
        """Ask the store."""
        with self.database.read() as connection:
            return [tuple(row) for row in connection.execute(text(query), named)]

    def segments(self, name):
        """Counts of the newest version of a monitor's round, by stratum and segment."""
        with self.database.read() as connection:
            [round_] = round_store.find_rounds(connection, name)
            return part_store.read_counts(connection, [round_.id])[1][round_.id]["segments"]

    def matrix(self, name):
        """Counts of the newest version of a monitor's round, by stratum."""
        return self.rows(
            "select c.stratum, s.size, c.labeled, c.positive from counts c "
            "join rounds r on r.id = c.round_id and r.version = c.version "
            "join monitors m on m.id = r.monitor_id "
            "join strata s on s.round_id = r.id and s.stratum = c.stratum "
            "where m.name = :name order by 1, 2, 3",
            name=name,
        )


@pytest.fixture
def fraud(store_folder):
    return Fraud(store_folder)


@pytest.mark.parametrize(
    "changes",
    [{"missing_means": "negative", "time": "seen"}, {"unlisted_means": "negative"}],
)
def test_a_census_has_the_matrix_and_segments_that_items_have_and_writes_no_item(fraud, changes):
    fraud.play(fraud.config(**changes))

    assert fraud.matrix("census") == fraud.matrix("items") != []
    assert fraud.segments("census") == fraud.segments("items") != []
    for table in ("items", "tasks", "payloads", "label_events"):
        counted = fraud.rows(
            f"select count(*) from {table} t join rounds r on r.id = t.round_id "
            "join monitors m on m.id = r.monitor_id where m.name = 'census'"
        )
        assert counted == [(0,)], table


def table(address, name, query):
    """Write rows as a table of a database; SQLite has times as texts with their zone."""
    with engine() as connection:
        connection.execute("set TimeZone = 'UTC'")
        columns = [row[0] for row in connection.execute(f"describe {query}").fetchall()]
        texts = ", ".join(
            f'strftime("{one}", $$%Y-%m-%dT%H:%M:%SZ$$)' if one in ("at", "seen") else one
            for one in columns
        )
        rows = connection.execute(f"select {texts} from ({query})").fetchall()
    kinds = {"at": "timestamptz", "seen": "timestamptz", "score": "double precision"}
    if address.startswith("sqlite"):
        kinds = {"score": "real"}
    typed = ", ".join(f"{one} {kinds.get(one, 'text')}" for one in columns)
    database = create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    with database.begin() as connection:
        connection.execute(text(f"create table {name} ({typed})"))
        marks = ", ".join(f":{one}" for one in columns)
        named = [dict(zip(columns, row, strict=True)) for row in rows]
        connection.execute(text(f"insert into {name} values ({marks})"), named)
    database.dispose()


def readings_by_id():
    """Note whether labels are read by their ids."""
    real = ColumnLabeler._by_id
    return mock.patch.object(ColumnLabeler, "_by_id", autospec=True, side_effect=real)


def play_in_database(fraud, address, **where):
    """Play both monitors of tables in a database, whose ids have no blanks around them."""
    table(address, "predictions", PREDICTIONS.replace("1000.0", "1000::double"))
    table(address, "truth", TRUTH.replace("' p'", "'p'"))
    fraud.source = {"kind": "sql", "url": address, "table": "predictions"}
    with readings_by_id() as by_id:
        fraud.play(fraud.config(time="seen", **where))
    assert fraud.matrix("census") == fraud.matrix("items") != []
    return by_id.called


@pytest.mark.parametrize("is_beside", [True, False])
def test_a_truth_in_a_database_or_in_another_engine_gives_the_same_matrix(fraud, is_beside):
    where = {"path": None, "table": "truth"} if is_beside else {}

    reads_ids = play_in_database(fraud, f"sqlite:///{fraud.folder}/bank.db", **where)

    assert reads_ids is not is_beside


def test_a_truth_in_the_same_duckdb_file_gives_the_same_matrix(fraud):
    with duckdb.connect(str(fraud.folder / "bank.duckdb")) as connection:
        connection.execute("set TimeZone = 'UTC'")
        connection.execute(f"create table predictions as {PREDICTIONS}")
        connection.execute(f"create table truth as {TRUTH}")
    fraud.source = {"path": "bank.duckdb", "table": "predictions"}
    with readings_by_id() as by_id:
        fraud.play(fraud.config(time="seen", path="bank.duckdb", table="truth"))

    assert fraud.matrix("census") == fraud.matrix("items") != []
    assert not by_id.called


def test_postgresql_joins_a_truth_beside_the_predictions_to_the_same_matrix(fraud, postgres_url):
    reads_ids = play_in_database(fraud, postgres_url, path=None, table="truth")

    assert not reads_ids


def test_labels_that_come_late_or_change_restate_the_round_by_another_join_also_after_a_kill(fraud):
    fraud.ways = ["census"]
    config = fraud.config(missing_means="negative", time="seen")
    before = fraud.play(config).matrix("census")

    fraud.write("truth", TRUTH.replace("i % 2 = 0", "i % 2 = 1"))
    with (
        mock.patch.object(census_store, "change_census", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        fraud.play(config)
    assert fraud.matrix("census") == before
    after = fraud.play(config).matrix("census")

    assert after != before
    versions = "select version, sum(positive) from counts group by version order by version"
    assert [version for version, _ in fraud.rows(versions)] == [1, 2]
    assert fraud.play(config).matrix("census") == after  # nothing changed since


def test_rows_that_have_not_matured_are_no_answer_until_they_have(fraud):
    fraud.ways, fraud.now = ["census"], SLOT + timedelta(days=1)
    config = fraud.config(missing_means="negative", time="seen")
    fraud.play(config)
    assert fraud.rows("select state from rounds") == [("labeling",)]
    [waiting] = fraud.read(open_rounds, "census")
    assert 0 < waiting.answered < waiting.wanted == 600

    fraud.now = MATURED
    fraud.play(config)

    assert fraud.rows("select state from rounds") == [("closed",)]


def test_labels_are_scaled_to_the_draw_where_few_predictions_came_later_and_refused_of_many(fraud):
    fraud.ways = ["census"]
    config = fraud.config(missing_means="negative", time="seen")
    sizes = [row[:2] for row in fraud.play(config).matrix("census")]
    fraud.write("truth", TRUTH.replace("i % 2 = 0", "i % 2 = 1"))
    fraud.write("predictions", PREDICTIONS.replace("601)", "603)"))

    assert [row[:2] for row in fraud.play(config).matrix("census")] == sizes

    fraud.write("truth", TRUTH)
    fraud.write("predictions", PREDICTIONS.replace("601)", "801)"))
    before = fraud.matrix("census")
    assert fraud.play(config).matrix("census") == before
    [(concern,)] = fraud.rows("select sentence from concerns where kind = 'stale count'")
    assert "200 of its 600 predictions came or went since the draw" in concern


def test_in_a_list_the_class_of_a_column_is_counted_and_people_get_the_budget(fraud):
    fraud.ways = ["list"]
    fraud.labeling = {
        "flagged": {**COLUMN, "time": "seen"},
        "passed": {"kind": "files", "deadline": "60d"},
    }
    fraud.play(fraud.config())

    drawn = fraud.rows("select predicted, count(*) from items group by predicted")
    whole = fraud.rows("select sum(size - planned) from strata where flagged")
    assert drawn == [(0, 40)]
    assert whole == [(0,)]


def test_all_is_refused_of_labels_that_people_give(fraud):
    fraud.ways, fraud.labeling = ["census"], {"kind": "files"}

    with pytest.raises(ConfigRefused, match="all is for one labeler of kind column"):
        fraud.config()
