"""A fleet of monitors whose rounds are played and told to MLflow: one falls, the others go on."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from monitor import wiring
from monitor.config.load import load_config
from monitor.domain.model import LOG, MLFLOW, Effect
from monitor.domain.notice import Notice
from monitor.rounds.delivery import deliver
from monitor.rounds.run import run
from monitor.storage import schema
from monitor.storage.tables import store

FIRST = datetime(2025, 1, 6, 6, 1, tzinfo=UTC)
WEEK = timedelta(days=7)
AFTER_THE_DEADLINE = timedelta(hours=2)
ROWS = 6000  # a week
STORE_ID = "8a0f5b52-0d33-5b43-9a35-0c9b1f2a7d11"
LABELS = 300
NAMES = (
    *("mail-travel", "mail-invoices", "mail-spam", "returns", "refunds", "card-fraud"),
    *("toxic-comments", "job-titles", "duplicates", "address-match", "x-ray-triage", "leads"),
)
HEAD = """\
store: sqlite:///monitor.db
mlflow: {{tracking_uri: "{mlflow}", timeout: 5m}}
monitors:
"""
MONITOR = """\
  - name: {name}
    {model}source:
      kind: duckdb
      path: {name}.parquet
      columns: {{id: id, time: scored_at, score: score}}
      threshold: 0.5
    schedule: {{cron: "0 6 * * MON"}}
    sample: {{max_labels: {labels}}}
    labeling: {{kind: column, path: "truth-{name}-*.parquet", id: id, value: truth, matures: 1h}}
    limits: {{precision: 0.7, recall: 0.8}}
"""
# `positive` is the probability of a positive: high scores are right, and in the weeks from `fall`
# the classifier misses more.
PREDICTIONS = """
create table predictions as
    select 'm' || i as id, week, score, i % 6 = 0 as is_late,
        timestamptz '{first}' + (i + 0.5) * interval 1 week / {rows} as scored_at,
        cast(random() < case
            when score >= 0.5 then {right} + (1 - {right}) * score * score
            else {missed} * score * case when week >= {fall} then 5 else 1 end
        end as integer) as truth
    from (
        select i, i // {rows} + 1 as week, pow(random(), 5) as score
        from range({rows} * {weeks}) as t(i)
    )
"""


@dataclass(frozen=True)
class Plot:
    """In which rounds what happens to the first monitor, and how long the others are watched."""

    rounds: int = 30
    monitors: int = 12
    others: int = 12

    @property
    def fall(self) -> int:
        """From when on more is missed."""
        return self.rounds - self.rounds // 5

    @property
    def stale(self) -> int:
        """Nobody labels anything."""
        return self.rounds // 2

    @property
    def late(self) -> int:
        """A sixth of the labels comes two weeks late."""
        return max(2, self.rounds // 3)


@dataclass
class Story:
    """Plays the rounds of a fleet in a folder; ``notices`` are what the log was sent, by monitor.

    ``model`` is a registered version that the first monitor watches, such as ``models:/mail/1``.
    """

    folder: Path
    mlflow: str
    plot: Plot = field(default_factory=Plot)
    model: str | None = None
    notices: list[Notice] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = NAMES[: self.plot.monitors]
        self._now = FIRST
        config = self.folder / "config.yaml"
        config.write_text(self._config())
        self.application = wiring.build(load_config(config), clock=lambda: self._now)
        schema.ready(self.application.database)
        with self.application.database.write() as connection:  # the draws depend on it
            connection.execute(store.update().values(id=STORE_ID))
        self._handlers = {LOG: _Listener(self.notices), MLFLOW: self.application.handlers[MLFLOW]}

    def _config(self) -> str:
        model = f"model: {self.model}\n    " if self.model else ""
        of_each = [
            MONITOR.format(name=name, labels=LABELS, model="" if place else model)
            for place, name in enumerate(self.names)
        ]
        return HEAD.format(mlflow=self.mlflow) + "".join(of_each)

    def play(self) -> Iterator[int]:
        """Play week after week for all monitors; yields the number of each week that is told."""
        data = {name: self._predictions(place, name) for place, name in enumerate(self.names)}
        begin = self.plot.rounds - self.plot.others
        for week in range(1, self.plot.rounds + 1):
            for place, name in enumerate(self.names):
                if place == 0 or week > begin:
                    self._label(data[name], name, week, is_first=place == 0)
                    self._round(name, week)
            self.tell()
            yield week

    def tell(self) -> None:
        """Deliver to MLflow and the log what waits; nothing of it may fail."""
        told = deliver(self.application.database, self._handlers, lambda: self._now)
        if told.failed:
            raise SystemExit(str(told.failed))

    def link(self, notice: Notice) -> str | None:
        """Find the page in MLflow that a hook's message links."""
        return self.application.link(notice)

    def close(self) -> None:
        """Give the store back."""
        self.application.database.close()

    def _predictions(self, place: int, name: str) -> Any:
        """Make the predictions of all weeks, with the truth that stays to be told."""
        connection = duckdb.connect()
        connection.execute(f"set timezone = 'UTC'; select setseed({0.03 * (place + 1)})")
        connection.execute(
            PREDICTIONS.format(
                first=FIRST - WEEK - timedelta(minutes=1),
                rows=ROWS,
                weeks=self.plot.rounds,
                right=0.62 + 0.02 * (place % 4),
                missed=0.12 + 0.02 * (place % 5),
                fall=self.plot.fall if place == 0 else self.plot.rounds + 1,
            )
        )
        path = self.folder / f"{name}.parquet"
        connection.execute(f"copy (select id, scored_at, score from predictions) to '{path}'")
        return connection

    def _label(self, data: Any, name: str, week: int, *, is_first: bool) -> None:
        """Write the truth that is known by now, as a file of the week."""
        wanted = f"week = {week}"
        if is_first and week == self.plot.stale:
            wanted = "false"
        if is_first and week == self.plot.late:
            wanted += " and not is_late"
        if is_first and week == self.plot.late + 2:
            wanted += f" or (week = {self.plot.late} and is_late)"
        path = self.folder / f"truth-{name}-{week:03}.parquet"
        data.execute(f"copy (select id, truth from predictions where {wanted}) to '{path}'")

    def _round(self, name: str, week: int) -> None:
        slot = FIRST + (week - 1) * WEEK
        context = self.application.context(name)
        for self._now in (slot, slot + AFTER_THE_DEADLINE):
            run(context)


class _Listener:
    """Takes the notices that would go to the log."""

    def __init__(self, heard: list[Notice]) -> None:
        self._heard = heard

    def deliver(self, effect: Effect) -> str:
        """Keep a notice."""
        self._heard.append(Notice.model_validate(dict(effect.payload)))
        return "heard"
