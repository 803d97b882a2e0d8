"""The registered model version that a monitor watches: its tags, and its link to runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from monitor.domain.errors import DeliveryFailed
from monitor.domain.registered import MODEL_URI

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion

    from monitor.domain.report import RoundReport

_LOGGED_MODEL = re.compile(r"models:/(m-[0-9a-f]+)")
_NOT_THERE = frozenset({"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "PERMISSION_DENIED"})


def model_version(client: MlflowClient, uri: str) -> ModelVersion:
    """Find ``models:/name/7`` or ``models:/name@alias``."""
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    parts = MODEL_URI.fullmatch(uri)
    if parts is None:
        message = f"model {uri!r} is not a registered version; write models:/name/7 or @alias"
        raise DeliveryFailed(message, sink_down=False)
    try:
        if parts["alias"]:
            return client.get_model_version_by_alias(parts["name"], parts["alias"])
        return client.get_model_version(parts["name"], parts["version"])
    except MlflowException as error:
        if error.error_code not in _NOT_THERE:
            raise
        message = (
            f"MLflow shows no model version {uri} to this user; register it, correct `model` in "
            "the config, or give the user permission READ on it"
        )
        raise DeliveryFailed(message, sink_down=False) from error


def watched_version(client: MlflowClient, report: RoundReport) -> ModelVersion:
    """Find the version that the predictions of a round are of."""
    if report.watched is None:
        message = f"monitor {report.monitor} names no `model`, so there is nothing to tag"
        raise DeliveryFailed(message, sink_down=False)
    return model_version(client, report.watched)


def logged_model_id(client: MlflowClient, uri: str) -> str | None:
    """Return the id by which a run links to the model; None for what cannot be linked.

    MLflow's own registry keeps it only inside the version's source.
    """
    try:
        version = model_version(client, uri)
    except DeliveryFailed:
        return None
    match = _LOGGED_MODEL.fullmatch(version.source or "")
    return version.model_id or (match[1] if match else None)
