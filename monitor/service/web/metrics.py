"""Metrics for Prometheus: how rounds, labels, estimates, alerts and deliveries stand.

All come from the store, so that every replica shows the same and a restart loses nothing; only
the last pass and the last reload are the process's own. `docs/reference/prometheus.md` lists the
names.
"""

from __future__ import annotations

import errno
import math
import os
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from monitor.domain.errors import ConfigRefused, MonitorError, TryLater
from monitor.domain.state import RoundState
from monitor.storage.overview import attention_store
from monitor.storage.overview.fleet_store import FleetState, read_fleet

if TYPE_CHECKING:
    from monitor.domain.report import Attention
    from monitor.storage.database import Database

_READABLE = 0o644  # the exporter is another user


PREFIX = "pr_monitor_"
_LAST_SUCCESS = f"{PREFIX}last_success_timestamp_seconds"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Own:
    """What only this process knows; None: it does not know.

    ``failing`` says for each monitor that was looked at whether something stopped it.
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
            *_all(fleet, monitors, now),
            *_attention(attention, monitors),
        ]
    # A registry of its own: the process-wide one may hold what other libraries count.
    registry = CollectorRegistry()
    registry.register(_CollectedMetrics(families))
    return generate_latest(registry).decode()


class _CollectedMetrics:
    """Metrics that are there already, as a registry wants them."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _gauge(name: str, text: str, labels: Sequence[str], values: Mapping[Any, float]) -> Metric:
    """Give the values of a metric by the tuples of its labels."""
    gauge = GaugeMetricFamily(PREFIX + name, text, labels=labels)
    for key, value in values.items():
        gauge.add_metric(key, value)
    return gauge


def _one(name: str, text: str, value: float | None) -> Iterator[Metric]:
    if value is not None:
        yield _gauge(name, text, [], {(): value})


def _time(name: str, text: str, at: datetime | None) -> Iterator[Metric]:
    return _one(f"{name}_timestamp_seconds", text, None if at is None else at.timestamp())


def _by_monitor(name: str, text: str, values: Mapping[str, float]) -> Metric:
    return _gauge(name, text, ["monitor"], {(name,): values[name] for name in sorted(values)})


def _process(own: Own, *, is_up: bool) -> Iterator[Metric]:
    build = {(version("mlflow-pr-monitor"),): 1}
    yield _gauge("build_info", "Which version runs; always 1.", ["version"], build)
    yield from _one("store_up", "Whether the store could be read for this page.", is_up)
    text = "When a pass over all monitors last ended without any error."
    yield from _time("last_success", text, own.last_success)
    yield _by_monitor("failing", "Whether the last look at a monitor met an error.", own.failing)
    text = "Whether the last reload of the config was taken; 0: the old one still runs."
    yield from _one("config_last_reload_successful", text, own.reloaded)
    text = "When the config that runs was read."
    yield from _time("config_last_reload_success", text, own.reloaded_at)


def _all(fleet: FleetState, monitors: Collection[str], now: datetime) -> Iterator[Metric]:
    names = sorted(monitors)
    rounds = {
        (name, state): fleet.rounds.get((name, state), 0) for name in names for state in RoundState
    }
    yield _gauge("rounds", "Rounds by the state they are in.", ["monitor", "state"], rounds)
    yield from _labels(fleet, names)
    yield from _estimates(fleet, frozenset(names))
    yield from _evidence(fleet, frozenset(names))
    yield from _effects(fleet, now)


def _labels(fleet: FleetState, monitors: list[str]) -> Iterator[Metric]:
    labeling = {name: fleet.labeling[name] for name in monitors if name in fleet.labeling}
    none = dict.fromkeys(monitors, 0)
    planned = {name: one.wanted for name, one in labeling.items()}
    received = {name: one.received for name, one in labeling.items()}
    yield _by_monitor("labels_wanted", "Items that open rounds want a label for.", none | planned)
    yield _by_monitor("labels_received", "Of these, items that have an answer.", none | received)
    yield _by_monitor(
        "labels_deadline_timestamp_seconds",
        "When the first open round is closed with the labels it has.",
        {
            name: one.deadline.timestamp()
            for name, one in labeling.items()
            if one.deadline is not None
        },
    )


def _estimates(fleet: FleetState, monitors: Collection[str]) -> Iterator[Metric]:
    yield _by_monitor(
        "estimate_slot_timestamp_seconds",
        "Due time of the newest round that has an estimate.",
        {name: at.timestamp() for name, at in fleet.newest.items() if name in monitors},
    )
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
        yield _gauge(name, text, ["monitor", "metric", "basis"], values)
    yield _by_monitor(
        "missing_answers_ratio",
        "Share of the answers to the round of the newest estimate that are missing.",
        {name: share for name, share in fleet.missing.items() if name in monitors},
    )


def _evidence(fleet: FleetState, monitors: Collection[str]) -> Iterator[Metric]:
    labels = ("monitor", "metric", "side")
    rows = {(row.monitor, row.metric, row.side): row for row in fleet.watched}
    limits = {key: rows[key] for key in sorted(rows) if key[0] in monitors}
    text = "The limit that a metric must keep."
    yield _gauge("limit_ratio", text, labels, {key: row.limit for key, row in limits.items()})
    evidence = {
        key: row.log_evidence / row.log_threshold
        for key, row in limits.items()
        if row.log_evidence is not None and math.isfinite(row.log_evidence)
    }
    text = "Evidence against a limit as a share of what makes an alert: log M / log A."
    yield _gauge("evidence_ratio", text, labels, evidence)
    keys = sorted(key for key in rows.keys() | fleet.firing.keys() if key[0] in monitors)
    firing = {key: min(fleet.firing.get(key, 0), 1) for key in keys}
    yield _gauge("alert_firing", "Whether an alert on a limit is open.", labels, firing)


def _attention(concerns: Iterable[Attention], monitors: Collection[str]) -> Iterator[Metric]:
    """Count what `status` shows as needing a look, or as having no estimate."""
    counts = Counter(concern.monitor for concern in concerns)
    text = "Things about the newest rounds that need a look; 0: none."
    if monitors:
        yield _by_monitor("attention", text, {name: counts[name] for name in monitors})


def _effects(fleet: FleetState, now: datetime) -> Iterator[Metric]:
    queues = {(queue.sink,): queue for queue in fleet.queues}
    waiting = {key: queue.waiting for key, queue in queues.items()}
    dead = {key: queue.dead for key, queue in queues.items()}
    ages = {key: max(0.0, (now - queue.since).total_seconds()) for key, queue in queues.items()}
    text = "Deliveries that wait, dead letters among them."
    yield _gauge("effects_waiting", text, ["sink"], waiting)
    yield _gauge("effects_dead", "Deliveries that somebody should look at.", ["sink"], dead)
    yield _gauge("effects_oldest_age_seconds", "Age of the oldest that waits.", ["sink"], ages)


def write_textfile(path: Path, text: str) -> None:
    """Replace the file as a whole: a reader meets either the old one or the new one.

    Raises `ConfigRefused` or `TryLater` if it cannot be written now, or at all.
    """
    try:
        _write_whole(path, text)
    except OSError as error:
        message = f"{path}: metrics cannot be written: {(error.strerror or str(error)).lower()}"
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise (TryLater if is_full else ConfigRefused)(message) from error


def _write_whole(path: Path, text: str) -> None:
    # `prometheus_client.write_to_textfile` leaves the mode to the umask, so that the exporter may
    # not read the file, and opens a name that can be guessed, so that it follows a planted link.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            os.fchmod(stream.fileno(), _READABLE)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def last_success(path: Path) -> datetime | None:
    """Read from the file of an earlier pass when one last ended well; None if it does not say."""
    try:
        text = path.read_text(encoding="utf-8")
        families = list(text_string_to_metric_families(text))
    except (OSError, ValueError):
        return None
    for family in families:
        if family.name == _LAST_SUCCESS and family.samples:
            return datetime.fromtimestamp(family.samples[0].value, tz=UTC)
    return None
