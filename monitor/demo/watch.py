"""The half year as the monitor sees it, round by round, beside what really happened."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from monitor.demo.digits import WEEK, Confusion
from monitor.demo.folder import MONITOR, WrittenFolder
from monitor.domain.errors import MonitorError
from monitor.domain.model import LOG, Effect
from monitor.domain.notice import Notice
from monitor.domain.report import EstimateRow, find_row
from monitor.domain.round import Round
from monitor.rounds.delivery import deliver
from monitor.rounds.run import backfill
from monitor.stats.core.counts import Interval
from monitor.storage import schema
from monitor.storage.results import estimate_store, evidence_store
from monitor.storage.tables import store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.wiring import Application

METRICS = ("precision", "recall")


@dataclass(frozen=True, slots=True)
class DemoRound:
    """One round: the truth, the labels it got, and the report.

    ``alone`` and ``pooled`` are by metric: from this round's labels, and with earlier rounds.
    ``evidence`` is the largest M of any limit, None while an alert is open; an alert fires at
    ``fires_at``.
    """

    number: int
    week: datetime
    truth: Confusion
    labeled: Confusion
    alone: dict[str, Interval]
    pooled: dict[str, Interval]
    evidence: float | None
    fires_at: float
    fired: tuple[str, ...]

    @property
    def naive_recall(self) -> float:
        """Recall of the labeled items as if they were a plain sample."""
        return self.labeled.recall


class _Listener:
    def __init__(self) -> None:
        self.notices: list[Notice] = []

    def deliver(self, effect: Effect) -> str:
        notice = Notice.model_validate(dict(effect.payload))
        self.notices.append(notice)
        return notice.id


def make_store(application: Application, seed: int) -> None:
    """Create the tables, with a fixed store id: the draws depend on it."""
    schema.ready(application.database)
    fixed = uuid.uuid5(uuid.NAMESPACE_URL, f"mlflow-pr-monitor/demo/{seed}")
    with application.database.write() as connection:
        connection.execute(store.update().values(id=str(fixed)))


def watch(
    application: Application, written: WrittenFolder, weeks: int | None = None
) -> Iterator[DemoRound]:
    """Run every round of the half year, oldest first; only the first ``weeks`` if given."""
    context = application.context(MONITOR)
    truths = written.rounds[:weeks]
    lag = context.settings.round.schedule.lag
    end = None if weeks is None else written.start + weeks * WEEK + lag
    for (_, round_), truth in zip(backfill(context, written.start, end), truths, strict=True):
        if round_ is None or round_.estimated_revision is None:
            message = f"the demo is broken: a round of {MONITOR} ended without an estimate"
            raise MonitorError(message)
        # To the log alone: MLflow takes seconds a round, and gets all of them in the end.
        listener = _Listener()
        deliver(application.database, {LOG: listener}, application.clock)
        with application.database.read() as connection:
            yield read_round(connection, round_, truth, listener.notices)


def read_round(
    connection: Connection, round_: Round, truth: Confusion, notices: Sequence[Notice] = ()
) -> DemoRound:
    """Read what a round came to, beside the truth."""
    rows = estimate_store.read_points(connection, [round_.id], METRICS)[round_.id]
    readings = evidence_store.frozen_readings(connection, [round_.id]).get(round_.id, {}).values()
    return DemoRound(
        number=round_.number,
        week=round_.window.start,
        truth=truth,
        labeled=_labeled(connection, round_.id),
        alone=_estimates(rows, "round"),
        pooled=_estimates(rows, "pooled"),
        evidence=max(
            (math.exp(r.log_evidence) for r in readings if r.log_evidence is not None), default=None
        ),
        fires_at=max(math.exp(reading.log_threshold) for reading in readings),
        fired=tuple(str(n.metric) for n in notices if n.event == "alert.firing"),
    )


def _labeled(connection: Connection, round_id: int) -> Confusion:
    strata = estimate_store.read_counts(connection, [round_id])[round_id]
    flagged = [part for part in strata if part.stratum.flagged]
    passed = [part for part in strata if not part.stratum.flagged]
    return Confusion(
        tp=sum(part.positive for part in flagged),
        fp=sum(part.labeled - part.positive for part in flagged),
        fn=sum(part.positive for part in passed),
        tn=sum(part.labeled - part.positive for part in passed),
    )


def _estimates(rows: list[EstimateRow], basis: str) -> dict[str, Interval]:
    result = {}
    for metric in METRICS:
        row = find_row(rows, metric, basis)
        if row and row.ends:
            result[metric] = Interval(*row.ends)
    return result
