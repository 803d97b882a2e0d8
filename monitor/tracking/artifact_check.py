"""Check that files of a run can be written to MLflow's artifact store, before a round needs it."""

from __future__ import annotations

import inspect
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import DeliveryFailed
from monitor.domain.masking import masked
from monitor.tracking.connection import secrets, shown
from monitor.tracking.import_failure import import_failure

if TYPE_CHECKING:
    from mlflow import MlflowClient

_FILE = "pr-monitor-check.txt"
_OF_RUNS_ONLY = "dbfs:/databricks/mlflow-tracking"
"""Databricks takes files there in the folder of a run only."""


def try_files(client: MlflowClient, experiment_id: str, tracking_uri: str) -> str:
    """Write a small file to an experiment's location and remove it; return the location.

    If it cannot be removed, it stays, and the next check replaces it. Raises
    `DeliveryFailed` if it cannot be written.
    """
    location = str(client.get_experiment(experiment_id).artifact_location)
    if location.startswith(_OF_RUNS_ONLY):
        return shown(location)
    try:
        repository = _repository(location, tracking_uri)
        with TemporaryDirectory(prefix="monitor-") as folder:
            path = Path(folder) / _FILE
            path.write_text("pr-monitor check writes this file and removes it.\n", encoding="utf-8")
            repository.log_artifact(str(path))
        with suppress(Exception):  # each artifact store brings errors of its own
            repository.delete_artifacts(_FILE)
    except ImportError as error:
        raise _failure(location, import_failure(error)) from error
    except Exception as error:
        raise _failure(location, f"{type(error).__name__}: {error}") from error
    return shown(location)


def _repository(location: str, tracking_uri: str) -> Any:
    from mlflow.store.artifact import artifact_repository_registry as registry  # noqa: PLC0415

    make = registry.get_artifact_repository
    takes_uri = "tracking_uri" in inspect.signature(make).parameters  # MLflow 3.3 and later
    return make(location, tracking_uri=tracking_uri) if takes_uri else make(location)


def _failure(location: str, why: str) -> DeliveryFailed:
    reason = masked(" ".join(why.split()), secrets())
    message = (
        f"files of rounds cannot be written to {shown(location)}: {reason}. Let this user write "
        "there, with the package and the credentials that it needs, or let the server store files "
        "(mlflow server --serve-artifacts)"
    )
    return DeliveryFailed(message, lasting=True)
