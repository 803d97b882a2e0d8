"""What a report comes to in MLflow's own terms: metrics, params, tags, a dataset, a table."""

from __future__ import annotations

import hashlib
import json
import math
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any

from monitor.domain.report import Status
from monitor.presentation.numbers import NOT_ESTIMABLE, interval_text, minute_text
from monitor.tracking.challenger import challenger_metrics

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from monitor.domain.report import AnswersRow, RoundReport

HEADLINE = ("precision", "recall", "f1", "prevalence")
BASES = (("round", "window"), ("pooled", "rate"))
CORRECTED = ("corrected", "window")
SOURCE = "pr-monitor"
_FRAME_DIGEST = 8  # characters, as MLflow's own datasets have; more are cut in its lists
_PAYLOAD_DIGEST = 32
_DECIMALS = 6
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


def timestamp(report: RoundReport) -> int:
    """Return the time of the metrics of this version.

    At equal step and time MLflow shows the larger of two values; one millisecond per version
    lets a correction downwards show.
    """
    return milliseconds(report.slot) + report.version


def shown_metrics(report: RoundReport) -> list[str]:
    """Name the metrics worth a chart: the headline ones, and those with a limit."""
    limited = [row.metric for row in report.evidence]
    there = {row.metric for row in report.estimates}
    return [metric for metric in dict.fromkeys([*HEADLINE, *limited]) if metric in there]


def metrics(report: RoundReport) -> dict[str, float]:
    """Name every figure that exists and is finite, rounded for the eye; report.json has all."""
    values: dict[str, float | None] = {}
    for metric in shown_metrics(report):
        values |= _estimate_values(report, metric)
    values |= {
        "population/size": report.size,
        "population/flagged": report.flagged,
        "population/flagged_rate": report.flagged / report.size if report.size else None,
        **{f"population/{name}": value for name, value in report.distances.items()},
        **_label_counts(report),
        "alert/firing": len(firing(report)),
        "alert/concerns": len(report.concerns),
    }
    values |= _evidence_values(report)
    values |= challenger_metrics(report)
    return {
        name: round(float(value), _DECIMALS)
        for name, value in values.items()
        if value is not None and math.isfinite(value)
    }


def _evidence_values(report: RoundReport) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for row in report.evidence:
        name = row.metric if row.side == "at_least" else f"{row.metric}_{row.side}"
        values[f"alert/{name}_evidence"] = row.log_evidence
        values[f"alert/{name}_threshold"] = row.log_threshold
        # in the section of the metric, so that a chart can have it beside the estimate
        side = "limit" if row.side == "at_least" else f"limit_{row.side}"
        values[f"{row.metric}/{side}"] = row.limit
    return values


def _label_counts(report: RoundReport) -> dict[str, float | None]:
    return {
        "labels/wanted": sum(row.planned for row in report.strata),
        "labels/labeled": sum(row.labeled for row in report.strata),
        "labels/positive": sum(row.positive for row in report.strata),
        "labels/declined": sum(row.declined for row in report.strata),
        "labels/unanswered": sum(row.unanswered for row in report.strata),
        "labels/missing_share": None if report.answers is None else _missing_share(report.answers),
        **_agreement_values(report),
    }


def _missing_share(answers: AnswersRow) -> float | None:
    return answers.missing / answers.wanted if answers.wanted else None


def _agreement_values(report: RoundReport) -> dict[str, float | None]:
    """Give the share of the window on which two people would agree, and kappa."""
    row = report.agreement
    if row is None:
        return {}
    differ = row.disagreement
    agreement = None if differ is None else 1 - differ
    return {"labels/agreement": agreement, "labels/kappa": row.kappa}


def _estimate_values(report: RoundReport, metric: str) -> dict[str, float | None]:
    section = "population/prevalence_" if metric == "prevalence" else f"{metric}/"
    values: dict[str, float | None] = {}
    for basis, estimand in (*BASES, CORRECTED):
        row = report.estimate(metric, basis=basis, estimand=estimand)
        if row is not None:
            for end in ("point", "low", "high"):
                values[f"{section}{basis}_{end}"] = getattr(row, end)
    return values


def firing(report: RoundReport) -> list[str]:
    """Name the metrics whose alert fires, each once."""
    return list(dict.fromkeys(row.metric for row in report.alerts if row.state == "firing"))


def unusual(report: RoundReport) -> list[str]:
    """Name the kinds of notices that the round has, each once."""
    return list(dict.fromkeys(row.kind for row in report.notices))


def params(report: RoundReport) -> dict[str, str]:
    """Name what no version of the round can change; the rest is tags."""
    values = {
        "monitor": report.monitor,
        "round": report.round,
        "history": report.history,
        "slot": minute(report.slot),
        "window_start": minute(report.window_start),
        "window_end": minute(report.window_end),
        "threshold": report.threshold,
        "level": report.level,
        "model": report.model,
        "model_version": report.model_version,
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def tags(report: RoundReport) -> dict[str, str]:
    """Name what people search runs by and read in columns."""
    values = {
        "monitor.name": report.monitor,
        "monitor.round": str(report.round),
        "monitor.state": report.state,
        "monitor.status": str(report.status),
        "monitor.alert": ", ".join(firing(report)) or "none",
        "monitor.notices": ", ".join(unusual(report)) or "none",
        "monitor.version": str(report.version),
        "monitor.slot": report.slot.astimezone(UTC).isoformat(),
        "monitor.window": f"{minute(report.window_start)} to {minute(report.window_end)}",
        "monitor.partial": str(report.partial).lower(),
        "monitor.precision": interval(report, "precision"),
        "monitor.recall": interval(report, "recall"),
        **source_tags(),
    }
    if report.model:
        values["monitor.model"] = report.model
    if report.reason:
        values["monitor.reason"] = report.reason
    return values


def source_tags() -> dict[str, str]:
    """Name what makes MLflow show a source and a user."""
    return {"mlflow.source.name": SOURCE, "mlflow.source.type": "JOB", "mlflow.user": SOURCE}


def interval(report: RoundReport, metric: str) -> str:
    """Write the best interval there is, pooled before round alone: ``0.83 [0.79, 0.87]``."""
    for basis, estimand in reversed(BASES):
        row = report.estimate(metric, basis=basis, estimand=estimand)
        if row is not None and row.point is not None:
            return interval_text(row)
    return NOT_ESTIMABLE


def minute(at: datetime) -> str:
    """Write a time to the minute, in UTC."""
    return f"{minute_text(at)} UTC"


def run_name(report: RoundReport) -> str:
    """Name the run so that a list of names reads as a calendar of news.

    Such as ``2025-04-28 ok P .91 R .67`` or ``2025-05-05 ALERT R .55``: what an alert fires for,
    else precision and recall. Rounds of less than a day have their time as well.
    """
    hourly = report.window_end - report.window_start < timedelta(days=1)
    date = f"{report.slot.astimezone(UTC):%Y-%m-%d{' %H:%M' if hourly else ''}}"
    fires = firing(report)
    status = report.status.upper() if report.status is Status.ALERT else str(report.status)
    figures = [_figure(report, metric) for metric in fires or ("precision", "recall")]
    return " ".join([date, status, *filter(None, figures)])


def best_point(report: RoundReport, metric: str) -> float | None:
    """Find the best estimate there is, pooled before round alone."""
    rows = (report.estimate(metric, basis=b, estimand=e) for b, e in reversed(BASES))
    return next((row.point for row in rows if row is not None and row.point is not None), None)


def _figure(report: RoundReport, metric: str) -> str | None:
    """Write the best estimate in as few letters as a list has room for."""
    point = best_point(report, metric)
    if point is None:
        return None
    return f"{_SHORT.get(metric, metric)} {f'{point:.2f}'.removeprefix('0')}"


def colour(report: RoundReport) -> str:
    """Choose the colour of the run by how the monitor stands; it is that of its charts, too."""
    return _COLOURS[report.status]


def counts_table(report: RoundReport) -> dict[str, list[Any]]:
    """Return the stored confusion matrix in the form that MLflow's table view reads."""
    fields = ("size", "labeled", "positive", "declined", "unanswered", "planned")
    columns = ["stratum", "predicted", *fields, "score_from", "score_below"]
    rows = [
        [row.stratum, int(row.flagged), *(getattr(row, f) for f in fields), row.low, row.high]
        for row in report.cells or report.strata
    ]
    return {"columns": columns, "data": rows}


def segments_table(report: RoundReport) -> dict[str, list[Any]]:
    """Return precision and recall by segment in the form that MLflow's table view reads."""
    columns = ["segment", "value", "metric", "size", "flagged", "labeled"]
    columns += ["point", "low", "high", "alone_point", "alone_low", "alone_high"]
    columns += ["margin", "more_round", "more_segment", "reason"]
    rows = [[getattr(row, name) for name in columns] for row in report.segments]
    return {"columns": columns, "data": rows}


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
