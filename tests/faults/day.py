"""A day of one round a minute: its files, and a replica that lives through it minute by minute."""

import os
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import structlog

from monitor import wiring
from monitor.config.load import load_config
from monitor.domain.errors import MonitorError
from monitor.service import loop
from monitor.storage import schema
from monitor.storage.outbox import effect_store
from monitor.storage.rounds import round_claims
from monitor.tracking import connection

BEGIN = datetime(2025, 3, 3, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PER_MINUTE = 60
LEAST_BAD = 14  # rounds that show that the precision fell, with few labels each
PATIENCE = 1  # seconds that a replica waits for one answer, where the product waits ten
CLAIM_MS = 20_000  # a claim that could not be given back runs out by the store's own clock

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
    hooks: [ops]
hooks:
  ops: {{kind: webhook, url: "${{HOOK}}", secret: "${{SECRET}}", allow_private: true, timeout: 1s}}
"""

ROWS = """
copy (
    select
        'm' || lpad(n::varchar, 7, '0') as id,
        timestamptz '2025-03-03 00:00:00+00' - interval 1 minute
            + n * (interval 60 seconds / {per_minute}) as at,
        case when n % 3 = 0 then 0.6 + (n % 7) / 20 else 0.05 + (n % 11) / 30 end as score,
        case when n % 3 <> 0 then hash(n) % 100 < 3
             when n // {per_minute} between {bad} and {good} then hash(n) % 100 < 30
             else hash(n) % 100 < 90 end::integer as truth
    from range({count}) as t(n)
) to '{path}'
"""


def prepare(folder: Path, *, minutes: int, spare: int, mlflow: str, hook: str) -> None:
    """Write the day's predictions with their truth, worse for a while, and a config."""
    rows = ROWS.format(
        per_minute=PER_MINUTE,
        count=(minutes + spare + 2) * PER_MINUTE,
        bad=minutes // 3,
        good=minutes // 3 + max(minutes // 12, LEAST_BAD),
        path=folder / "day.parquet",
    )
    duckdb.sql(f"set timezone='UTC'; {rows}")
    (folder / "config.yaml").write_text(CONFIG.format(mlflow=mlflow))
    (folder / "hook").write_text(f"{hook}/hook")


def live(folder: str, number: int) -> None:
    """Do a pass for each minute that comes in as a line; say its memory, until a line is empty."""
    _hurry(Path(folder) / f"log-{number}.txt")
    now = BEGIN
    secrets = {"HOOK": (Path(folder) / "hook").read_text(), "SECRET": "not-a-secret" * 3}
    config = load_config(Path(folder) / "config.yaml", secrets)
    application = wiring.build(config, clock=lambda: now)
    schema.ready(application.database)
    for line in sys.stdin:
        if not line.strip():
            break
        now = BEGIN + int(line) * MINUTE
        with suppress(MonitorError):  # a store that was locked for long; the next pass goes on
            loop.one_pass(application, application.monitors)
        sys.stdout.write(f"{_memory()}\n")
        sys.stdout.flush()
    application.database.close()


def _memory() -> int:
    """Resident memory in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _hurry(log: Path) -> None:
    connection.CALL_SECONDS = PATIENCE
    connection.HEALTH_SECONDS = PATIENCE
    round_claims.CLAIM_MS = effect_store.CLAIM_MS = CLAIM_MS
    structlog.configure(
        processors=[structlog.processors.format_exc_info, structlog.processors.JSONRenderer()],
        logger_factory=structlog.WriteLoggerFactory(file=log.open("a")),
    )
