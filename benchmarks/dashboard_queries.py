"""What the dashboard and the views cost a database with many monitors.

Rows and wall time of each view, and on PostgreSQL of each panel of deploy/grafana for two years,
the second time it is asked, on a store of `copied_rounds`.
"""

import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Engine

from benchmarks.copied_rounds import fill_store, write_config
from benchmarks.harness import store_on
from monitor.config.load import load_config
from monitor.storage.database import Database
from monitor.storage.views import NAMES
from tests.dashboards import grafana

MONITOR = "mail-0001"
LONG = ("latest_estimates", "round_results")
"""Views of which nobody wants all: 42 rows, or 49 columns, a round."""
SHOWN = timedelta(days=2 * 365)


def main(sqlite: bool = False, monitors: int = 1000, rounds: int = 100) -> None:
    """Fill a store and print a line for each query."""
    with tempfile.TemporaryDirectory() as folder, store_on(not sqlite) as url:
        config = write_config(Path(folder), url, monitors)
        fill_store(config, rounds)
        engine = Database(load_config(config).store_url).engine
        print("   rows  seconds  query")
        for line in measured(engine):
            print(line)
        engine.dispose()


def measured(engine: Engine) -> Iterator[str]:
    """Ask each query twice; yields the figures of the second time."""
    for name, sql in queries(with_panels=engine.dialect.name == "postgresql").items():
        with engine.connect() as connection:
            for _ in range(2):
                begun = time.monotonic()
                rows = connection.exec_driver_sql(sql).all()
                took = time.monotonic() - begun
        yield f"{len(rows):>7}  {took:>7.3f}  {name}"


def queries(*, with_panels: bool) -> dict[str, str]:
    """Name what is asked: views, and the panels of the dashboard."""
    points = "select monitor, slot, precision_pooled_point, recall_pooled_point from round_results"
    found = {f"{view}, all": f"select * from {view}" for view in NAMES if view not in LONG}
    found |= {"round_results, precision and recall of all": points}
    found |= {
        f"{view}, one monitor": f"select * from {view} where monitor = '{MONITOR}'"
        for view in NAMES
    }
    if with_panels:
        now = datetime.now(UTC)
        variables = {"monitor": MONITOR, "basis": "pooled"}
        for panel in grafana.panels():
            sql = grafana.expanded(panel["targets"][0]["rawSql"], variables, now - SHOWN, now)
            found[f"panel {panel['title']}"] = sql
    return found
