"""The averages over the classes of a block in MLflow: one long-lived run, a step per window."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from monitor.domain.class_report import AverageRow, ClassReport
from monitor.presentation.classes import remark_lines
from monitor.presentation.numbers import NOT_ESTIMABLE, interval_text, minute_text
from monitor.tracking import values
from monitor.tracking.describe import as_far_as_fits, escaped, table_text
from monitor.tracking.runs import DIGEST, NOTE

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


_ENDS = {"point": "", "low": "_low", "high": "_high"}
_LONGEST = 7_500  # MLflow cuts a tag of a run at 8,000 characters
_DECIMALS = 6


def metrics(report: ClassReport) -> dict[str, float]:
    """Return the averages by name; empty if the window lacks a class: charts have a gap there."""
    result = {
        f"{row.average}/{row.metric}{ending}": getattr(row, end)
        for row in report.averages
        for end, ending in _ENDS.items()
    }
    existing = {
        name: round(value, _DECIMALS) for name, value in result.items() if value is not None
    }
    counts = {"labels": report.labels, "items": report.items, "classes": len(report.classes)}
    return existing | {f"round/{name}": float(count) for name, count in counts.items() if existing}


def write_classes(client: MlflowClient, run: Run, report: ClassReport, digest: str) -> None:
    """Add one window's point to the run of its block; description and tags are the newest's.

    The digest comes last: a run that has it is complete.
    """
    from mlflow.entities import Metric, RunTag  # noqa: PLC0415

    existing = run.data.tags
    this = report.slot.astimezone(UTC).isoformat(), report.version
    newest = this >= (existing.get("monitor.slot", ""), int(existing.get("monitor.version", 0)))
    at = values.timestamp(report)
    client.log_batch(
        run.info.run_id,
        [Metric(name, value, at, report.round) for name, value in metrics(report).items()],
        [],
        [RunTag(name, value) for name, value in _tags(report).items()] if newest else [],
        synchronous=True,
    )
    if newest:
        client.set_tag(run.info.run_id, DIGEST, digest)


def _tags(report: ClassReport) -> dict[str, str]:
    return {
        NOTE: as_far_as_fits(describe(report), _LONGEST),
        "monitor.block": report.block,
        "monitor.round": str(report.round),
        "monitor.slot": report.slot.astimezone(UTC).isoformat(),
        "monitor.version": str(report.version),
        "monitor.window": f"{values.minute(report.window_start)} to "
        f"{values.minute(report.window_end)}",
        "P": values.short_interval(report.average("macro", "precision")),
        "R": values.short_interval(report.average("macro", "recall")),
        **values.SOURCE_TAGS,
    }


def describe(report: ClassReport) -> str:
    """Write the description: averages, what they lack, and the classes."""
    head = (
        f"Precision and recall over the {len(report.classes)} classes of {escaped(report.block)}, "
        f"round due {minute_text(report.slot)} UTC."
    )
    averages = table_text(
        ["average", "precision", "recall"],
        [
            [average, *(_long(report.average(average, metric)) for metric in values.FIRST)]
            for average in ("macro", "micro")
        ],
    )
    rows = [
        [escaped(row.value), escaped(row.monitor or "-")]
        + ["-" if n is None else f"{n:,}" for n in (row.round, row.flagged, row.labeled)]
        for row in report.classes
    ]
    classes = table_text(["class", "monitor", "round", "predicted", "labels"], rows)
    remarks = [escaped(f"{line}.") for line in remark_lines(report)]
    answers = (
        [f"{report.labels:,} labels of {report.items:,} items: the classes' samples overlap."]
        if report.items
        else []
    )
    return "\n\n".join([head, averages, *remarks, *answers, classes])


def _long(row: AverageRow | None) -> str:
    return NOT_ESTIMABLE if row is None else interval_text(row)
