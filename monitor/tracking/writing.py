"""Write a run, in an order that makes a half-written run safe to write again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote

import structlog

from monitor.domain.errors import DeliveryFailed
from monitor.domain.report import RoundReport
from monitor.report.curve_figures import curves_svg
from monitor.report.figures import timeline_svg
from monitor.report.html import FILE, report_html
from monitor.tracking import values
from monitor.tracking.connection import is_down
from monitor.tracking.describe import describe
from monitor.tracking.links import CLASSIC
from monitor.tracking.model_page import logged_model_id
from monitor.tracking.runs import DIGEST, NOTE

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Run


_TIMELINE = "timeline.svg"
_FINISHED = "FINISHED"  # also without an estimate: a red cross would say that the job failed

_REPORT = "report.json"

log = structlog.get_logger("monitor.tracking")


def write_round(
    client: MlflowClient, run: Run, report: RoundReport, digest: str, *, links: str
) -> None:
    """Write one version of a round, unless the run has a newer one.

    The digest comes last: a run that has it is complete. ``links`` are Markdown.
    """
    if int(run.data.tags.get("monitor.version", 0)) > report.version:
        return
    _keep_replaced(client, run, report)
    tables = values.tables(report)
    listed = json.dumps([{"path": path, "type": "table"} for path in tables])
    page = _html_report(report)
    picture = timeline_picture(run.info.run_id)
    if page:
        link = f"[Report]({report_path(run.info.experiment_id, run.info.run_id)})"
        picture = f"{link}\n\n{picture}"
    tags = {
        NOTE: describe(report, picture, links),
        **values.tags(report),
        "mlflow.loggedArtifacts": listed,
        "mlflow.runColor": values.colour(report),
        "mlflow.runName": values.run_name(report),
    }
    model_id = _linked_model(client, run, report)
    _log_batch(client, run, report, tags, model_id)
    _log_inputs(client, run, report, model_id)
    files = {
        **page,
        **_figures(report),
        **{path: json.dumps(table._asdict()).encode() for path, table in tables.items()},
        _REPORT: report.model_dump_json(indent=2).encode(),
    }
    _log_files(client, run, files)
    if run.info.status != _FINISHED:
        client.update_run(run.info.run_id, _FINISHED)
    client.set_tag(run.info.run_id, DIGEST, digest)  # last: with it the run counts as whole


def status_link(report: RoundReport) -> str:
    """Link to the status page of a round, relative as the picture is."""
    name = quote(report.monitor, safe="")
    return f"[Status page](pr-monitor/monitors/{name}/rounds/{report.round})"


def timeline_picture(run_id: str) -> str:
    """Show the timeline in a description: a relative address works behind any prefix or proxy."""
    address = f"get-artifact?path={_TIMELINE}&run_uuid={run_id}"
    return f"![Estimates of the rounds so far]({address})"


def _figures(report: RoundReport) -> dict[str, bytes]:
    drawn = {
        _TIMELINE: timeline_svg(report),
        "curves.svg": curves_svg(report),
    }
    return {name: figure for name, figure in drawn.items() if figure is not None}


def write_fleet(client: MlflowClient, run: Run, report: RoundReport, digest: str) -> bool:
    """Add one round's point to the monitor's long-lived run; returns whether it is the newest.

    Description and figure are of the newest round. The run stays RUNNING, since the monitor does.
    """
    if int(run.data.tags.get("monitor.round", 0)) > report.round:
        _log_batch(client, run, report, {})
        return False
    tags = {
        NOTE: describe(report, timeline_picture(run.info.run_id)),
        **values.tags(report),
        "mlflow.runColor": values.colour(report),
    }
    _log_batch(client, run, report, tags)
    _log_files(client, run, {_TIMELINE: timeline_svg(report)})
    client.set_tag(run.info.run_id, DIGEST, digest)
    return True


def _log_batch(
    client: MlflowClient,
    run: Run,
    report: RoundReport,
    tags: Mapping[str, str],
    model_id: str | None = None,
) -> None:
    """Write metrics, params and tags in one transaction; estimates to the model as well.

    Deletes tags of an earlier version that this one lacks. Keeps existing params, and writes no
    metrics to a purged model: else MLflow refuses the whole batch.
    """
    from mlflow.entities import Param, RunTag  # noqa: PLC0415
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    params = values.params(report) if tags and "monitor.fleet_key" not in run.data.tags else {}

    def write(model_id: str | None) -> None:
        client.log_batch(
            run.info.run_id,
            _metrics(report, model_id),
            [Param(key, value) for key, value in params.items() if key not in run.data.params],
            [RunTag(key, value) for key, value in tags.items()],
            synchronous=True,
        )

    try:
        write(model_id)
    except MlflowException as error:
        if model_id is None or is_down(error):
            raise
        write(None)
    for name in values.absent_tags(report) if tags else ():
        if name in run.data.tags:
            client.delete_tag(run.info.run_id, name)


def _metrics(report: RoundReport, model_id: str | None) -> list[Metric]:
    from mlflow.entities import Metric  # noqa: PLC0415

    at, data = values.timestamp(report), values.dataset(report)
    of_model = (
        {"model_id": model_id, "dataset_name": data["name"], "dataset_digest": data["digest"]}
        if model_id
        else {}
    )
    return [
        Metric(name, value, at, report.round, **(of_model if name in values.OF_MODEL else {}))
        for name, value in values.metrics(report).items()
    ]


def _linked_model(client: MlflowClient, run: Run, report: RoundReport) -> str | None:
    if run.inputs is not None and _has_inputs(run):
        return next((model.model_id for model in run.inputs.model_inputs), None)
    return logged_model_id(client, report.watched) if report.watched else None


def _has_inputs(run: Run) -> bool:
    return run.inputs is not None and bool(run.inputs.dataset_inputs)


def _log_inputs(client: MlflowClient, run: Run, report: RoundReport, model_id: str | None) -> None:
    from mlflow.entities import Dataset, DatasetInput, InputTag, LoggedModelInput  # noqa: PLC0415

    if _has_inputs(run):
        return
    context = InputTag("mlflow.data.context", "monitoring")
    client.log_inputs(
        run.info.run_id,
        [DatasetInput(Dataset(**values.dataset(report)), [context])],
        [LoggedModelInput(model_id)] if model_id else None,
    )


def _log_files(client: MlflowClient, run: Run, files: Mapping[str, bytes]) -> None:
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    with TemporaryDirectory(prefix="monitor-") as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.write_bytes(content)
            try:
                client.log_artifact(run.info.run_id, str(path))
            except (MlflowException, OSError, DeliveryFailed):
                raise
            except Exception as error:  # each artifact store brings errors of its own
                message = (
                    f"MLflow took the figures but not the file {name}: its artifact store raised "
                    f"{type(error).__name__}: {error}"
                )
                raise DeliveryFailed(message, sink_down=False) from error


def _keep_replaced(client: MlflowClient, run: Run, report: RoundReport) -> None:
    """Keep the report that a new version is about to replace, as ``report-v1.json``.

    Uses the version in the file: an interrupted attempt may have replaced it already. If the
    artifact store does not return the file, only this copy is missing.
    """
    if report.version == 1 or "monitor.version" not in run.data.tags:
        return
    with TemporaryDirectory(prefix="monitor-") as folder:
        try:
            report_file = _fetched(client, run.info.run_id, folder)
            version = int(json.loads(report_file.read_text(encoding="utf-8"))["version"])
            if version < report.version:
                copy = shutil.copy(report_file, Path(folder) / f"report-v{version}.json")
                client.log_artifact(run.info.run_id, str(copy))
        except Exception as error:  # each artifact store brings errors of its own
            if is_down(error):
                raise  # the delivery is retried, and nothing is replaced yet
            log.warning(
                "earlier report not kept in MLflow", round=report.round, reason=str(error)[:200]
            )


def _fetched(client: MlflowClient, run_id: str, folder: str) -> Path:
    """Download the report; if that fails, a listing shows whether the store answers.

    MLflow reports every failed download as a missing file, even in an outage; MLflow 3.1 raises
    nothing, and returns no path.
    """
    path = None
    with suppress(Exception):  # each artifact store brings errors of its own
        path = client.download_artifacts(run_id, _REPORT, folder)
    if not path:
        client.list_artifacts(run_id)
        path = client.download_artifacts(run_id, _REPORT, folder)
    if not path:
        message = f"the run has no {_REPORT}"
        raise FileNotFoundError(message)
    return Path(path)


def _html_report(report: RoundReport) -> dict[str, bytes]:
    """Make the report; its failure stops no round, since the run has its data in other forms."""
    try:
        return {FILE: report_html(report)}
    except Exception as error:  # noqa: BLE001  whatever is wrong with it, the figures are right
        reason = f"{type(error).__name__}: {error}"
        log.warning("no report in MLflow", round=report.round_key, reason=reason)
        return {}


def report_path(experiment_id: str, run_id: str) -> str:
    """Return the path of the report in MLflow's pages: the run's files, with this one opened."""
    return f"#/experiments/{experiment_id}/runs/{run_id}/artifacts/{FILE}?{CLASSIC}"
