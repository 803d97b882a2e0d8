"""Our experiments in MLflow: found or made once, with what their pages say first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from monitor.domain.errors import DeliveryFailed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mlflow import MlflowClient

log = structlog.get_logger("monitor.tracking")

NOTE = "mlflow.note.content"


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment and its tags, as they were when it was found or last written."""

    id: str
    tags: dict[str, str]


def find_or_create_experiment(
    client: MlflowClient, name: str, artifacts: Path | None
) -> Experiment:
    """Find or create an experiment; files go to ``artifacts``, or where the server wants them.

    Raises
    ------
    DeliveryFailed
        If the experiment was deleted: only a person can decide about that.
    """
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    found: Any = client.get_experiment_by_name(name)
    if found is None:
        location = artifacts.as_uri() if artifacts else None
        try:
            return Experiment(client.create_experiment(name, location), {})
        except MlflowException:
            found = client.get_experiment_by_name(name)  # another worker was faster, or it is lost
            if found is None:
                raise
    if found.lifecycle_stage != "active":
        message = (
            f"MLflow experiment {name!r} was deleted; restore it with: mlflow experiments restore "
            f"--experiment-id {found.experiment_id}, or choose another mlflow.experiment_prefix"
        )
        raise DeliveryFailed(message, sink_down=False)
    return Experiment(str(found.experiment_id), dict(found.tags))


def write_note(client: MlflowClient, experiment: Experiment, note: str) -> None:
    """Write the description of an experiment, unless it is that already."""
    if experiment.tags.get(NOTE) != note:
        client.set_experiment_tag(experiment.id, NOTE, note)
        experiment.tags[NOTE] = note


def add_views(client: MlflowClient, experiment: Experiment, views: Mapping[str, str]) -> None:
    """Write the views that an experiment lacks.

    One that is there stays as it is: a person may have changed it. No round fails for want of a
    view.
    """
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    for tag, view in views.items():
        if tag in experiment.tags:
            continue
        try:
            client.set_experiment_tag(experiment.id, tag, view)
        except MlflowException as error:
            log.warning("view not saved in MLflow", experiment=experiment.id, reason=str(error))
            return
        experiment.tags[tag] = view
