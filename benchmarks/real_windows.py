"""Run both real data sets as monitors and print true against estimated precision and recall.

The folder is that of `real_data`. The World Series has limits 5 points under its 2016 values.
"""

import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from monitor.config.load import load_config
from monitor.domain.model import Window
from monitor.domain.slots import window_of
from monitor.presentation.numbers import number_text
from monitor.rounds import run as rounds
from monitor.rounds.context import MonitorContext
from monitor.rounds.reporting.report import find_row
from monitor.storage import schema
from monitor.storage.results import alert_store, estimate_store
from monitor.storage.tables import store
from monitor.wiring import build

CONFIG = """
store: sqlite:///monitor.db
monitors:
  - name: {name}
    source:
      kind: duckdb
      path: {path}
      columns: {{id: id, time: {time}, score: score, predicted: pred}}
      time_zone: UTC
    schedule: {{cron: "0 0 1 1 *"}}
    sample: {{max_labels: {budget}}}
    labeling: {{kind: column, path: {path}, id: id, value: y, matures: 1d}}
    limits: {limits}
"""


@dataclass(frozen=True)
class Data:
    """One data set: its file, its column of times, its limits."""

    name: str
    file: str
    time: str
    limits: str


DATA = (
    Data("world-series", "fte_mlb_world_series.csv.gz", "ts", "{precision: 0.741, recall: 0.541}"),
    Data("census", "census_ma_employment.csv.gz", "ts", "{precision: 0.75, recall: 0.8185}"),
)


def main(data: Path) -> None:
    """Print one table per data set and budget."""
    for each in DATA:
        with tempfile.TemporaryDirectory() as work:
            path = Path(work) / "predictions.parquet"
            prepare(data / each.file, path)
            for budget in (300, 1000):
                run(each, path, budget, Path(work) / str(budget))


def prepare(file: Path, path: Path) -> None:
    """Write the file as Parquet, with a time where it has only a year."""
    names = [row[0] for row in rows_of(f"describe select * from '{file}'")]
    time = "cast(ts as timestamp)" if "ts" in names else "make_timestamp(year, 7, 1, 0, 0, 0)"
    duckdb.sql(
        f"copy (select cast(id as varchar) as id, {time} as ts, score, pred, y from '{file}')"
        f" to '{path}' (format parquet)"
    )


def run(data: Data, path: Path, budget: int, folder: Path) -> None:
    """Backfill one monitor and print its windows."""
    folder.mkdir()
    config = folder / "config.yaml"
    config.write_text(
        CONFIG.format(name=data.name, path=path, time=data.time, budget=budget, limits=data.limits)
    )
    application = build(load_config(config))
    schema.ready(application.database)
    with application.database.write() as connection:  # the draws depend on the store's id
        fixed = uuid.uuid5(uuid.NAMESPACE_URL, f"{data.name}/{budget}")
        connection.execute(store.update().values(id=str(fixed)))
    [context] = application.monitors
    print(f"\n{data.name}, at most {budget} labels a window")
    heads = [f"{name:>9}  {'this round':<20}  {'pooled':<20}" for name in ("precision", "recall")]
    print(f"{'window':>6} {'labels':>6}  {'  '.join(heads)}")
    for window, labels, cells in windows(context, path):
        print(f"{window.start.year:>6} {labels:>6}  {'  '.join(cells)}")
    with application.database.read() as connection:
        for alert in alert_store.find_alerts(connection):
            limit = f"{alert.metric} at least {alert.limit}"
            print(f"alert: {limit} fired in round {alert.fired_in_round}")
    application.database.close()


def windows(context: MonitorContext, path: Path) -> Iterator[tuple[Window, int, list[str]]]:
    """Yield each window with its labels and the text of every cell."""
    span = context.source.span()
    if span is None:
        return
    start = span[0].replace(month=1, day=1, hour=0)
    for slot, round_ in rounds.backfill(context, start):
        if round_ is None:
            continue
        with context.database.read() as connection:
            rows = estimate_store.read_estimates(connection, round_.id, round_.version)
            counts = estimate_store.read_counts(connection, [round_.id])[round_.id]
        window = window_of(context.settings.round.schedule, slot)
        true = truth(path, window)
        cells = [
            text
            for metric in ("precision", "recall")
            for text in (
                f"{true[metric]:9.3f}",
                f"{number_text(find_row(rows, metric, 'round')):<20}",
                f"{number_text(find_row(rows, metric, 'pooled')):<20}",
            )
        ]
        yield window, sum(tally.labeled for tally in counts), cells


def rows_of(query: str) -> list[tuple[Any, ...]]:
    """Run a query that gives rows."""
    found = duckdb.sql(query)
    if found is None:
        message = f"no rows from {query}"
        raise ValueError(message)
    return found.fetchall()


def truth(path: Path, window: Window) -> dict[str, float]:
    """Count the window's own precision and recall over all its rows."""
    query = (
        f"select sum(pred * y) / sum(pred), sum(pred * y) / sum(y) from '{path}'"
        f" where ts >= '{window.start:%Y-%m-%d}' and ts < '{window.end:%Y-%m-%d}'"
    )
    [(precision, recall)] = rows_of(query)
    return {"precision": float(precision), "recall": float(recall)}
