"""Metrics for Prometheus, listed in `docs/reference/prometheus.md`.

All but `Own` come from the store, so every replica shows the same and a restart loses nothing.
"""

from __future__ import annotations

import errno
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import ConfigRefused, MonitorError, TryLater
from monitor.domain.report import Attention
from monitor.domain.state import RoundState
from monitor.files.atomic_write import make_whole
from monitor.rounds.open_rounds import OpenRound, all_open_rounds
from monitor.storage.database import Database
from monitor.storage.overview import attention_store
from monitor.storage.overview.fleet_store import FleetState, read_fleet

if TYPE_CHECKING:
    from prometheus_client import Metric

_READABLE = 0o644  # the exporter is another user


PREFIX = "pr_monitor_"
_LAST_SUCCESS = f"{PREFIX}last_success_timestamp_seconds"


@dataclass(frozen=True, slots=True)
class Own:
    """State that only this process has; None if unknown.

    ``failing`` is, for each checked monitor, whether an error stopped it.
    """

    last_success: datetime | None = None
    failing: Mapping[str, bool] = field(default_factory=dict)
    reloaded: bool | None = None
    reloaded_at: datetime | None = None


def exposition(database: Database, monitors: Collection[str], own: Own, now: datetime) -> str:
    """Write all metrics in Prometheus' text format.

    monitors: Monitors of the config; others in the store are omitted.
    """
    try:
        with database.read() as connection:
            fleet = read_fleet(connection, now)
            open_rounds = all_open_rounds(connection)
            attention = [
                *attention_store.without_estimate(connection, now),
                *attention_store.read_attention(connection, now),
            ]
    except MonitorError:
        # The page still comes, with store_up 0: that is what watchers need to see then.
        families = [*_process(own, is_up=False)]
    else:
        families = [
            *_process(own, is_up=True),
            *_rounds(fleet, monitors),
            *_labels(open_rounds, monitors),
            *_estimates(fleet, monitors),
            *_evidence(fleet, monitors),
            *_effects(fleet, now),
            *_attention(attention, monitors),
        ]
    from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415  an extra

    # A separate registry: the process-wide one may have metrics of other libraries.
    registry = CollectorRegistry()
    registry.register(_CollectedMetrics(families))
    return generate_latest(registry).decode()


class _CollectedMetrics:
    """Ready-made metrics as a collector for a registry."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _gauge(name: str, text: str, values: Mapping[Any, float], *labels: str) -> Metric:
    """Make a gauge from values by tuples of labels, or by a single label."""
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415  as above

    gauge = GaugeMetricFamily(PREFIX + name, text, labels=labels)
    for key in sorted(values):
        gauge.add_metric([key] if isinstance(key, str) else key, values[key])
    return gauge


def _one(name: str, text: str, value: float | None) -> Metric:
    return _gauge(name, text, {} if value is None else {(): value})


def _time(name: str, text: str, at: datetime | None) -> Metric:
    return _one(f"{name}_timestamp_seconds", text, None if at is None else at.timestamp())


def _process(own: Own, *, is_up: bool) -> Iterator[Metric]:
    build = {version("mlflow-pr-monitor"): 1}
    yield _gauge("build_info", "Which version runs; always 1.", build, "version")
    yield _one("store_up", "Whether the store could be read for this page.", is_up)
    text = "When a pass over all monitors last ended without any error."
    yield _time("last_success", text, own.last_success)
    text = "Whether the last look at a monitor met an error."
    yield _gauge("failing", text, own.failing, "monitor")
    text = "Whether the last reload of the config was taken; 0: the old one still runs."
    yield _one("config_last_reload_successful", text, own.reloaded)
    text = "When the config that runs was read."
    yield _time("config_last_reload_success", text, own.reloaded_at)


def _rounds(fleet: FleetState, monitors: Collection[str]) -> Iterator[Metric]:
    rounds = {
        (name, state): fleet.rounds.get((name, state), 0)
        for name in monitors
        for state in RoundState
    }
    yield _gauge("rounds", "Rounds by the state they are in.", rounds, "monitor", "state")


def _labels(
    open_rounds: Mapping[str, Sequence[OpenRound]], monitors: Collection[str]
) -> Iterator[Metric]:
    rounds = {name: open_rounds.get(name, ()) for name in monitors}
    planned = {name: sum(one.wanted for one in of) for name, of in rounds.items()}
    received = {name: sum(one.answered for one in of) for name, of in rounds.items()}
    deadlines = {
        name: min(ends).timestamp()
        for name, of in rounds.items()
        if (ends := [one.deadline for one in of if one.deadline is not None])
    }
    yield _gauge("labels_wanted", "Answers that open rounds ask for.", planned, "monitor")
    yield _gauge("labels_received", "Of these, answers that came.", received, "monitor")
    text = "When the first open round is closed with the labels it has."
    yield _gauge("labels_deadline_timestamp_seconds", text, deadlines, "monitor")


def _estimates(fleet: FleetState, monitors: Collection[str]) -> Iterator[Metric]:
    newest = {name: at.timestamp() for name, at in fleet.newest.items() if name in monitors}
    text = "Due time of the newest round that has an estimate."
    yield _gauge("estimate_slot_timestamp_seconds", text, newest, "monitor")
    ends = {
        "point": "Precision or recall in the newest estimate.",
        "low": "Lower end of its 95 % interval, whatever the missing answers are.",
        "high": "Upper end of its 95 % interval, whatever the missing answers are.",
    }
    for end, text in ends.items():
        name = "estimate_ratio" if end == "point" else f"estimate_{end}_ratio"
        values = {
            (monitor, row.metric, row.basis): getattr(row, end)
            for monitor, row in fleet.estimates
            if monitor in monitors and getattr(row, end) is not None
        }
        yield _gauge(name, text, values, "monitor", "metric", "basis")
    missing = {name: share for name, share in fleet.missing.items() if name in monitors}
    text = "Share of the answers to the round of the newest estimate that are missing."
    yield _gauge("missing_answers_ratio", text, missing, "monitor")


def _evidence(fleet: FleetState, monitors: Collection[str]) -> Iterator[Metric]:
    labels = ("monitor", "metric", "side")
    rows = {
        (row.monitor, row.metric, row.side): row for row in fleet.watched if row.monitor in monitors
    }
    limits = {key: row.limit for key, row in rows.items()}
    yield _gauge("limit_ratio", "The limit that a metric must keep.", limits, *labels)
    evidence = {
        key: row.log_evidence / row.log_threshold
        for key, row in rows.items()
        if row.log_evidence is not None and math.isfinite(row.log_evidence)
    }
    text = "Evidence against a limit as a share of what makes an alert: log M / log A."
    yield _gauge("evidence_ratio", text, evidence, *labels)
    open_alerts = {key: 1 for key in fleet.firing if key[0] in monitors}
    firing = dict.fromkeys(rows, 0) | open_alerts
    yield _gauge("alert_firing", "Whether an alert on a limit is open.", firing, *labels)


def _attention(concerns: Iterable[Attention], monitors: Collection[str]) -> Iterator[Metric]:
    """Count the concerns that `status` shows, and the rounds without an estimate."""
    counts = Counter(concern.monitor for concern in concerns)
    text = "Things about the newest rounds that need a look; 0: none."
    yield _gauge("attention", text, {name: counts[name] for name in monitors}, "monitor")


def _effects(fleet: FleetState, now: datetime) -> Iterator[Metric]:
    waiting = {queue.sink: queue.waiting for queue in fleet.queues}
    dead = {queue.sink: queue.dead for queue in fleet.queues}
    ages = {queue.sink: max(0.0, (now - queue.since).total_seconds()) for queue in fleet.queues}
    text = "Deliveries that wait, dead letters among them."
    yield _gauge("effects_waiting", text, waiting, "sink")
    yield _gauge("effects_dead", "Deliveries that somebody should look at.", dead, "sink")
    yield _gauge("effects_oldest_age_seconds", "Age of the oldest that waits.", ages, "sink")


def write_textfile(path: Path, text: str) -> None:
    """Replace the file as a whole: a reader meets either the old one or the new one.

    Raises `ConfigRefused` or `TryLater` if it cannot be written now, or at all.
    """

    def fill(unfinished: Path) -> None:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.chmod(_READABLE)  # whatever the umask lets others do

    try:
        path.parent.stat()  # a folder that is not there is a wrong one, and none is made
        make_whole(path, fill)
    except OSError as error:
        message = f"{path}: metrics cannot be written: {(error.strerror or str(error)).lower()}"
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise (TryLater if is_full else ConfigRefused)(message) from error


def last_success(path: Path) -> datetime | None:
    """Read from the file of an earlier pass when one last ended well; None if it does not say."""
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415  as above

    try:
        text = path.read_text(encoding="utf-8")
        families = list(text_string_to_metric_families(text))
    except (OSError, ValueError):
        return None
    for family in families:
        if family.name == _LAST_SUCCESS and family.samples:
            return datetime.fromtimestamp(family.samples[0].value, tz=UTC)
    return None
