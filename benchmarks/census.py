"""What it costs to count all labels of a fraud monitor where they are, beside item by item.

86 daily files of predictions, a file of chargebacks, twelve weekly rounds; CPU seconds a round
without MLflow, and the size of the store.
"""

import multiprocessing
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import yaml

from benchmarks.harness import timed
from monitor.config.load import load_config
from monitor.rounds import run
from monitor.storage import schema
from monitor.wiring import build

START = datetime(2025, 1, 6, tzinfo=UTC)
DAYS = 86
FLAGGED = 0.97  # the score from which on a payment is flagged
_ROW = (
    "'tx' || {i} as id, (hash({i}) % 1000000) / 1000000.0 as score, "
    "timestamptz '2025-01-06 00:00+00' + interval ({us}) microsecond as at"
)
_FRAUD = "(hash({i} + 7) % 1000000) / 1000000.0 < power((hash({i}) % 1000000) / 1000000.0, 60) * .7"


def write(folder: Path, days: int, each: int) -> None:
    """Write a file of predictions for each day, and the chargebacks of all."""
    us = timedelta(days=1) // timedelta(microseconds=1) // each
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'; set enable_progress_bar = false")
        for day in range(days):
            row = _ROW.format(i="i", us=f"i * {us}")
            rows = f"select {row} from range({day * each}, {(day + 1) * each}) t(i)"
            connection.execute(f"copy ({rows}) to '{folder}/day-{day:02}.parquet'")
        rows = f"select 'tx' || i as id, 1 as fraud from range({days * each}) t(i)"
        connection.execute(
            f"copy ({rows} where {_FRAUD.format(i='i')}) to '{folder}/chargebacks.parquet'"
        )


def config_of(folder: Path, most: int | str) -> Path:
    """Write the config of a monitor that wants all labels."""
    columns = {"id": "id", "time": "at", "score": "score"}
    labeling = {"kind": "column", "path": "chargebacks.parquet", "id": "id", "value": "fraud"}
    monitor = {
        "name": "fraud",
        "source": {"path": "day-*.parquet", "columns": columns, "threshold": FLAGGED},
        "schedule": {"cron": "0 0 * * MON"},
        "sample": {"max_labels": most},
        "labeling": {**labeling, "matures": "7d", "missing_means": "negative"},
    }
    path = folder / f"{most}.yaml"
    store = f"sqlite:///{folder}/{most}.db"
    path.write_text(yaml.safe_dump({"store": store, "monitors": [monitor]}))
    return path


def played(path: Path, rounds: int) -> tuple[float, float, str]:
    """Play rounds; returns CPU seconds of one, MB of the store, and the labels counted."""
    end = START + timedelta(weeks=rounds)
    app = build(load_config(path), clock=lambda: end + timedelta(days=8))
    schema.ready(app.database)
    [context] = app.monitors
    spent, _ = timed(lambda: [*run.backfill(context, START, end)])
    with app.database.read() as connection:
        counted = connection.exec_driver_sql(
            "select count(distinct round_id), sum(labeled), sum(positive) from counts"
        ).one()
    stored = sum(file.stat().st_size for file in path.parent.glob(f"{path.stem}.db*"))
    text = "{} rounds, {:,} labels, {:,} positive".format(*counted)
    return spent / rounds, stored / 1e6, text


def main(weekly: int = 105_000, rounds: int = 12) -> None:
    """Print the figures of both ways."""
    fresh = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name, fresh.Pool(1, maxtasksperchild=1) as pool:
        folder = Path(name)
        pool.apply(write, (folder, DAYS, weekly // 7))
        ways: dict[str, int | str] = {"counted": "all", "by items": 200_000}
        for title, most in ways.items():
            spent, stored, text = pool.apply(played, (config_of(folder, most), rounds))
            print(f"{title:<10}{spent:7.2f} CPU s a round {stored:8.2f} MB   {text}")
