"""The report of a round as a file of its run, and the way to it from the run's description."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from monitor.report.html import FILE, report_html
from monitor.tracking.links import CLASSIC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlflow.entities import Run

    from monitor.domain.report import RoundReport

log = structlog.get_logger("monitor.tracking")


def html_report(report: RoundReport) -> dict[str, bytes]:
    """Make the report, by its file; none if that fails.

    It repeats what the run has in other forms, so no round waits for want of it.
    """
    try:
        return {FILE: report_html(report)}
    except Exception as error:  # noqa: BLE001  whatever is wrong with it, the figures are right
        reason = f"{type(error).__name__}: {error}"
        log.warning("no report in MLflow", round=report.round_key, reason=reason)
        return {}


def page_link(run: Run, page: Mapping[str, bytes]) -> str:
    """Lead from a description to the report, and begin a new paragraph; nothing if none is."""
    return f"[Report]({report_path(run.info.experiment_id, run.info.run_id)})\n\n" if page else ""


def report_path(experiment_id: str, run_id: str) -> str:
    """Return where MLflow's pages show the report: the files of the run, with this one opened."""
    return f"#/experiments/{experiment_id}/runs/{run_id}/artifacts/{FILE}?{CLASSIC}"
