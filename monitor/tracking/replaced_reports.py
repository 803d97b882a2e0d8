"""Reports of earlier versions of a round: kept in its run beside the newest one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import structlog

from monitor.tracking.connection import is_down

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

    from monitor.domain.report import RoundReport

log = structlog.get_logger("monitor.tracking")

REPORT = "report.json"


def keep_replaced(client: MlflowClient, run: Run, report: RoundReport) -> None:
    """Keep the report that a new version is about to replace, as ``report-v1.json``.

    By what is in the file: a try that was cut off may have replaced it already. A store of
    files that refuses to give it back costs this copy, not the round.
    """
    if report.version == 1 or "monitor.version" not in run.data.tags:
        return
    with TemporaryDirectory(prefix="monitor-") as folder:
        try:
            result = _fetched(client, run.info.run_id, folder)
            version = int(json.loads(result.read_text(encoding="utf-8"))["version"])
            if version < report.version:
                retained = shutil.copy(result, Path(folder) / f"report-v{version}.json")
                client.log_artifact(run.info.run_id, str(retained))
        except Exception as error:  # each artifact store brings errors of its own
            if is_down(error):
                raise  # the round is told again, and nothing of it is replaced yet
            log.warning(
                "earlier report not kept in MLflow", round=report.round, reason=str(error)[:200]
            )


def _fetched(client: MlflowClient, run_id: str, folder: str) -> Path:
    """Fetch the report; a listing tells whether anybody answers.

    MLflow says of every download that fails that there is no such file, in an outage too.
    """
    try:
        return Path(client.download_artifacts(run_id, REPORT, folder))
    except Exception:  # noqa: BLE001  each artifact store brings errors of its own
        client.list_artifacts(run_id)
        return Path(client.download_artifacts(run_id, REPORT, folder))
