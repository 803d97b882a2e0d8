"""A report in MLflow's own terms: metrics, params, tags, a dataset, a table."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from monitor.domain.class_report import ClassReport
from monitor.domain.report import RoundReport, Status
from monitor.domain.settings import CREDIBLE_LEVEL
from monitor.presentation.estimates import worst_case_text
from monitor.presentation.limit_comparisons import LimitState, colour_status, comparisons_of
from monitor.presentation.numbers import NOT_ESTIMABLE, PointAndInterval, interval_text, minute_text
from monitor.presentation.outcome import best_row
from monitor.presentation.parts.registry import VIEWS
from monitor.presentation.parts.view import LoggedTable
from monitor.presentation.restatements import restated_text

FIRST = ("precision", "recall")
SOURCE = "pr-monitor"
SOURCE_TAGS = {"mlflow.source.name": SOURCE, "mlflow.source.type": "JOB", "mlflow.user": SOURCE}
"""Tags that make MLflow show a source and a user."""
_FRAME_DIGEST = 8  # characters, as MLflow's own datasets have; more are cut in its lists
_PAYLOAD_DIGEST = 32
_DECIMALS = 6
_ENDS = ("point", "low", "high")
OF_MODEL = frozenset(f"{metric}/{end}" for metric in FIRST for end in _ENDS)
"""Metrics that are worth a line in the list that a logged model has of all of its rounds."""
_SHORT = {"precision": "P", "recall": "R", "f1": "F1"}
_COLOURS = {
    Status.ALERT: "#c8352b",
    Status.ATTENTION: "#d98a00",
    Status.STALE: "#7d8590",
    Status.LEARNING: "#2a6fbb",
    Status.OK: "#2a6fbb",
}


def digest(payload: Mapping[str, Any]) -> str:
    """Identify a payload: equal content, equal digest."""
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_PAYLOAD_DIGEST]


def milliseconds(at: datetime) -> int:
    """Return the time as MLflow counts it."""
    return round(at.timestamp() * 1000)


def timestamp(report: RoundReport | ClassReport) -> int:
    """Return the time of the metrics: a millisecond more for each version.

    At equal step and time MLflow shows the larger value, which would hide a correction.
    """
    return milliseconds(report.slot) + report.version


def metrics(report: RoundReport) -> dict[str, float]:
    """Return the dozen figures that a reviewer compares; estimates come first by the alphabet."""
    values: dict[str, float | None] = {}
    for metric in dict.fromkeys([*FIRST, *(row.metric for row in report.evidence)]):
        values |= _estimate_values(report, metric)
    answers = report.answers
    values |= {
        "prevalence/point": best_point(report, "prevalence"),
        "round/flagged_rate": report.flagged / report.size if report.size else None,
        "round/labels": report.labeled,
        # the share for which ``low`` and ``high`` are bounds
        "round/missing_answers": answers.missing / answers.wanted
        if answers and answers.missing
        else None,
    }
    values |= _limit_values(report)
    for view in VIEWS:
        values |= view.figures(report)
    return {
        name: round(float(value), _DECIMALS)
        for name, value in values.items()
        if value is not None and math.isfinite(value)
    }


def _estimate_values(report: RoundReport, metric: str) -> dict[str, float | None]:
    best, alone = best_row(report, metric), report.shown(metric, "round")
    return {
        **{f"{metric}/{end}": None if best is None else getattr(best, end) for end in _ENDS},
        f"{metric}/round": None if alone is None else alone.point,
    }


def _limit_values(report: RoundReport) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for row in report.evidence:
        side = "" if row.side == "at_least" else f"_{row.side}"
        values[f"{row.metric}/limit{side}"] = row.limit
        if row.log_evidence is not None:  # 1 is an alert, 0 none or in favor of the metric
            share = max(0.0, row.log_evidence / row.log_threshold)
            values[f"round/evidence_{row.metric}{side}"] = share
    return values


def firing(report: RoundReport) -> list[str]:
    """Return the metrics whose alert fires, each once."""
    return list(dict.fromkeys(row.metric for row in report.firing))


def unusual(report: RoundReport) -> list[str]:
    """Return the kinds of notices that the round has, each once."""
    return list(dict.fromkeys(row.kind for row in report.notices))


def params(report: RoundReport) -> dict[str, str]:
    """Return the values that no version of the round can change; the others are tags."""
    plain = ("monitor", "round", "history", "threshold", "model", "model_version")
    values = {name: getattr(report, name) for name in plain} | {"level": CREDIBLE_LEVEL}
    values |= {
        name: minute(getattr(report, name)) for name in ("slot", "window_start", "window_end")
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def tags(report: RoundReport) -> dict[str, str]:
    """Return the tags that people search runs by and read in columns."""
    values = {
        "monitor.name": report.monitor,
        "monitor.round": str(report.round),
        "monitor.state": report.state,
        "monitor.status": result_word(report),
        "monitor.grade": str(report.status.grade),  # by it the gravest come first in a list
        "monitor.alert": ", ".join(firing(report)) or "none",
        "monitor.notices": ", ".join(unusual(report)) or "none",
        "monitor.version": str(report.version),
        "monitor.slot": report.slot.astimezone(UTC).isoformat(),
        "monitor.window": f"{minute(report.window_start)} to {minute(report.window_end)}",
        "monitor.partial": str(report.partial).lower(),
        "monitor.precision": interval(report, "precision"),
        "monitor.recall": interval(report, "recall"),
        **{_SHORT[metric]: short_interval(best_row(report, metric)) for metric in FIRST},
        **SOURCE_TAGS,
    }
    return values | {name: value for name, value in _optional_tags(report).items() if value}


def absent_tags(report: RoundReport) -> list[str]:
    """Name the tags that this version of a round does not have, though another may."""
    return [name for name, value in _optional_tags(report).items() if not value]


def _optional_tags(report: RoundReport) -> dict[str, str | None]:
    return {
        "monitor.model": report.watched,
        "monitor.reason": report.reason,
        "monitor.missing": worst_case_text(report.estimates, report.answers),
        "monitor.restated": restated_text(report.restated[-1]) if report.restated else None,
    }


def interval(report: RoundReport, metric: str) -> str:
    """Write the estimate that the verdict quotes, with its interval: ``0.83 [0.79, 0.87]``."""
    row = best_row(report, metric)
    return NOT_ESTIMABLE if row is None else interval_text(row)


def minute(at: datetime) -> str:
    """Write a time to the minute, in UTC."""
    return f"{minute_text(at)} UTC"


def run_name(report: RoundReport) -> str:
    """Name the run by its round and result, the date last: ``18 ALERT R 0.55 2025-05-05``.

    MLflow cuts the end of a long name, which neighboring rounds may share. The figures are of the
    metrics that fire, otherwise precision and recall.
    """
    fires = firing(report)
    result = "ALERT" if report.status is Status.ALERT else result_word(report)
    figures = [_figure(report, metric) for metric in fires or FIRST]
    remarks = ["partial"] * report.partial
    remarks += ["restated"] * any(row.own for row in report.restated)
    begin = [str(report.round), result, *remarks, *filter(None, figures)]
    return " ".join([*begin, slot_date(report)])


def result_word(report: RoundReport) -> str:
    """Name the result of a round; ``ok`` only if every metric keeps its limit by its interval."""
    states = {each.state for each in comparisons_of(report)} if report.status is Status.OK else ()
    if LimitState.BEYOND in states:
        return "beyond limit"
    return "unclear" if LimitState.UNCLEAR in states else str(report.status)


def slot_date(report: RoundReport) -> str:
    """Write when the round was due; with the time for rounds of less than a day."""
    hourly = report.window_end - report.window_start < timedelta(days=1)
    return f"{report.slot.astimezone(UTC):%Y-%m-%d{' %H:%M' if hourly else ''}}"


def best_point(report: RoundReport, metric: str) -> float | None:
    """Find the point of the estimate that the verdict quotes."""
    row = best_row(report, metric)
    return None if row is None else row.point


def _figure(report: RoundReport, metric: str) -> str | None:
    point = best_point(report, metric)
    if point is None:
        return None
    return f"{_SHORT.get(metric, metric)} {point:.2f}"


def short_interval(row: PointAndInterval | None) -> str:
    """Write an estimate and its interval for a narrow column, in percent: ``83 % 79-87``."""
    if row is None or row.point is None or row.low is None or row.high is None:
        return NOT_ESTIMABLE
    return f"{100 * row.point:.0f} % {100 * row.low:.0f}-{100 * row.high:.0f}"


def colour(report: RoundReport) -> str:
    """Return the colour of the run and of its charts, by the monitor's status."""
    return _COLOURS[colour_status(report.status, comparisons_of(report))]


def tables(report: RoundReport) -> dict[str, LoggedTable]:
    """Return the tables of a run by file: its confusion matrix, and what parts add."""
    parts = [table for view in VIEWS for table in view.tables(report).items()]
    return {"counts.json": _counts_table(report), **dict(parts)}


def _counts_table(report: RoundReport) -> LoggedTable:
    fields = ("size", "labeled", "positive", "declined", "unanswered", "planned")
    columns = ["stratum", "predicted", *fields, "score_from", "score_below"]
    rows = [
        [row.stratum, int(row.flagged), *(getattr(row, f) for f in fields), row.low, row.high]
        for row in report.cells or report.strata
    ]
    return LoggedTable(columns, rows)


def dataset(report: RoundReport) -> dict[str, str]:
    """Describe the window's predictions as a dataset; the digest is of the counted frame."""
    frame = {
        "monitor": report.monitor,
        "window": [report.window_start.isoformat(), report.window_end.isoformat()],
        "strata": [[row.stratum, row.size] for row in report.cells or report.strata],
        "bad_rows": report.bad_rows,
    }
    source = {"monitor": report.monitor, "window": tags(report)["monitor.window"]}
    profile = {"num_rows": report.size, "flagged": report.flagged, "bad_rows": report.bad_rows}
    return {
        "name": f"{report.monitor} predictions",
        "digest": digest(frame)[:_FRAME_DIGEST],
        "source_type": SOURCE,
        "source": json.dumps(source),
        "profile": json.dumps(profile),
    }
