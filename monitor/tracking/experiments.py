"""Our experiments in MLflow: found or made once, with what their pages say first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from monitor.domain.errors import DeliveryFailed
from monitor.tracking.connection import is_down
from monitor.tracking.saved_views import MOST_VIEWS, is_view

if TYPE_CHECKING:
    from mlflow import MlflowClient

log = structlog.get_logger("monitor.tracking")

NOTE = "mlflow.note.content"
MOST_CHARACTERS = 5_000  # Of a tag of an experiment, before MLflow 3.17; since then 20,000


@dataclass(frozen=True, slots=True)
class TrackedExperiment:
    """An experiment and its tags, as they were when it was found or last written."""

    id: str
    tags: dict[str, str]


def find_or_create_experiment(
    client: MlflowClient, name: str, artifacts: Path | None
) -> TrackedExperiment:
    """Find or create an experiment; files go to ``artifacts``, or where the server wants them.

    Raises `DeliveryFailed` if the experiment was deleted: only a person can decide about that.
    """
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    experiment: Any = client.get_experiment_by_name(name)
    if experiment is None:
        location = artifacts.as_uri() if artifacts else None
        try:
            return TrackedExperiment(client.create_experiment(name, location), {})
        except MlflowException:
            experiment = client.get_experiment_by_name(
                name
            )  # another worker was faster, or it is lost
            if experiment is None:
                raise
    if experiment.lifecycle_stage != "active":
        message = (
            f"MLflow experiment {name!r} was deleted; restore it with: mlflow experiments restore "
            f"--experiment-id {experiment.experiment_id}, or choose another "
            "mlflow.experiment_prefix"
        )
        raise DeliveryFailed(message, sink_down=False)
    return TrackedExperiment(str(experiment.experiment_id), dict(experiment.tags))


def write_note(client: MlflowClient, experiment: TrackedExperiment, note: str) -> None:
    """Write the description of an experiment, unless it is that already."""
    if experiment.tags.get(NOTE) != note:
        _set_tag(client, experiment, NOTE, note)


def add_views(
    client: MlflowClient, experiment: TrackedExperiment, views: Mapping[str, str]
) -> None:
    """Write the views that an experiment lacks, as long as the page has room for them.

    One that is there stays as it is: a person may have changed it.
    """
    for tag, view in views.items():
        if tag not in experiment.tags and has_room(experiment, tag):
            _set_tag(client, experiment, tag, view)


def has_room(experiment: TrackedExperiment, view: str) -> bool:
    """Whether a view is among those that the page offers, or would be."""
    return view in experiment.tags or sum(map(is_view, experiment.tags)) < MOST_VIEWS


def _set_tag(client: MlflowClient, experiment: TrackedExperiment, tag: str, value: str) -> None:
    """Write what is more than the numbers: a refusal costs it, and nothing else.

    Where MLflow does not answer, the delivery is tried again: what is there is of an earlier
    round.
    """
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    try:
        client.set_experiment_tag(experiment.id, tag, value)
    except MlflowException as error:
        if is_down(error):
            raise
        log.warning("not written in MLflow", experiment=experiment.id, tag=tag, reason=str(error))
        return
    experiment.tags[tag] = value
