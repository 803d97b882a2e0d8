"""R12: a day of one round a minute in one process, whose memory stays."""

import os
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from sqlalchemy import text

from monitor import wiring
from monitor.config.load import load_config
from monitor.service import loop
from monitor.storage import schema
from monitor.storage.database import Database
from tests.workers import worker

pytestmark = [pytest.mark.server, pytest.mark.soak]

BEGIN = datetime(2025, 3, 3, tzinfo=UTC)
MINUTES = 24 * 60
PER_MINUTE = 60
MB = 2**20
LIVE = "from tests.faults.test_long_day import live; live()"
CONFIG = """\
store: sqlite:///monitor.db
mlflow: {{tracking_uri: "{mlflow}", experiment_prefix: day}}
monitors:
  - name: mail
    source:
      kind: duckdb
      path: day.parquet
      columns: {{id: id, time: at, score: score}}
      threshold: 0.5
    schedule: {{cron: "* * * * *"}}
    sample: {{max_labels: 20, bands: {{flagged: 1, passed: 1}}}}
    labeling: {{kind: column, path: day.parquet, id: id, value: truth, matures: 1s,
                deadline: 10m, late_labels: 5m}}
    limits: {{precision: 0.8}}
"""
ROWS = """
copy (
    select
        'm' || lpad(n::varchar, 7, '0') as id,
        timestamptz '2025-03-03 00:00:00+00' - interval 1 minute
            + n * (interval 60 seconds / {per_minute}) as at,
        case when n % 3 = 0 then 0.6 + (n % 7) / 20 else 0.05 + (n % 11) / 30 end as score,
        (hash(n) % 100 < case when n % 3 = 0 then 90 else 3 end)::integer as truth
    from range({count}) as t(n)
) to '{path}'
"""


def live():
    """Do a pass for each minute that comes in as a line, and print its resident memory."""
    now = BEGIN
    application = wiring.build(load_config(Path("config.yaml")), clock=lambda: now)
    schema.ready(application.database)
    for line in sys.stdin:
        now = BEGIN + timedelta(minutes=int(line))
        loop.one_pass(application, application.monitors)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        print(pages * os.sysconf("SC_PAGE_SIZE"), flush=True)  # noqa: T201


def test_memory_stays_over_a_day_of_one_round_a_minute(tmp_path, mlflow_url):
    (tmp_path / "config.yaml").write_text(CONFIG.format(mlflow=mlflow_url))
    count, path = (MINUTES + 2) * PER_MINUTE, tmp_path / "day.parquet"
    duckdb.sql(f"set timezone='UTC'; {ROWS.format(per_minute=PER_MINUTE, count=count, path=path)}")
    memory = []

    with worker(LIVE, cwd=tmp_path) as service:
        for minute in range(MINUTES):
            service.go(minute)
            memory.append(int(service.said.readline()) // MB)

    with closing(Database(f"sqlite:///{tmp_path}/monitor.db")) as store, store.read() as rows:
        closed = rows.execute(text("select count(*) from rounds where state = 'closed'")).scalar()
        waits = rows.execute(text("select count(*) from effects where status <> 'done'")).scalar()
    assert (closed, waits) == (MINUTES, 0)
    assert memory[-1] <= memory[MINUTES // 4] * 1.15
