"""Find or create our experiments and runs in MLflow, once, even in a retry.

MLflow has no unique key for runs. So the key is a tag set at creation, with a search before and
after it. If several runs have the key, all workers keep the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import structlog

from monitor.domain.errors import DeliveryFailed
from monitor.tracking.connection import is_down
from monitor.tracking.saved_views import MOST_VIEWS, is_view

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

log = structlog.get_logger("monitor.tracking")

NOTE = "mlflow.note.content"
MOST_CHARACTERS = 5_000  # Of a tag of an experiment, before MLflow 3.17; since then 20,000
DIGEST = "monitor.digest"
DUPLICATE_OF = "monitor.duplicate_of"


@dataclass(frozen=True, slots=True)
class RunKey:
    """A tag that exactly one run of an experiment carries."""

    tag: str
    value: str

    @property
    def safe(self) -> str:
        """The value with every character encoded that could end a quote in a search."""
        return quote(self.value, safe="/:._-")


@dataclass(frozen=True, slots=True)
class NewRun:
    """Values of a run that is created."""

    name: str
    start_ms: int
    tags: Mapping[str, str] = field(default_factory=dict)


def find_or_create(client: MlflowClient, experiment: str, key: RunKey, new: NewRun) -> Run:
    """Return the run of the key, restored if it was deleted, or created."""
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    runs = _with_key(client, experiment, key)
    if not runs:
        tags = {**new.tags, key.tag: key.safe}
        try:
            return client.create_run(experiment, new.start_ms, tags, new.name)
        except MlflowException:
            runs = _with_key(client, experiment, key)  # it may have been made all the same
            if not runs:
                raise
    return _live(client, runs[0])


def find(client: MlflowClient, experiment: str, key: RunKey) -> Run | None:
    """Find the run of a key that all workers keep."""
    return next(iter(_with_key(client, experiment, key)), None)


def settle(client: MlflowClient, experiment: str, key: RunKey) -> Run:
    """Return the one run that every worker keeps, after removing all others of the key.

    Call it when the own run is complete, so that the kept one is or will be.
    """
    runs = _with_key(client, experiment, key)
    if not runs:
        message = f"the MLflow run of {key.value} was removed while it was written; it is retried"
        raise DeliveryFailed(message, sink_down=False)
    keep, *duplicates = runs  # `_with_key` sorts equally for every worker, so all keep this one
    for other in duplicates:
        if _is_live(other):
            # Tagged, so that it is not taken for a run that a person deleted.
            client.set_tag(other.info.run_id, DUPLICATE_OF, keep.info.run_id)
            client.delete_run(other.info.run_id)
    return _live(client, keep)


def _with_key(client: MlflowClient, experiment: str, key: RunKey) -> list[Run]:
    """Find the runs of a key, the one to keep first; deleted ones too, but no removed doubles."""
    from mlflow.entities import ViewType  # noqa: PLC0415

    search_runs = client.search_runs(
        [experiment], f"tags.`{key.tag}` = '{key.safe}'", ViewType.ALL, max_results=100
    )
    runs = [run for run in search_runs if run.data.tags.get(key.tag) == key.safe]
    return sorted((run for run in runs if _is_live(run) or not _is_removed(run)), key=_rank)


def _rank(run: Run) -> tuple[bool, bool, int, str]:
    """Order by values that are equal for all workers at any time, so that all keep one run."""
    return _is_removed(run), not _is_live(run), run.info.start_time or 0, run.info.run_id


def _is_removed(run: Run) -> bool:
    return DUPLICATE_OF in run.data.tags


def _is_live(run: Run) -> bool:
    return bool(run.info.lifecycle_stage == "active")


def _live(client: MlflowClient, run: Run) -> Run:
    if not _is_live(run):
        client.restore_run(run.info.run_id)
    if _is_removed(run):
        client.delete_tag(run.info.run_id, DUPLICATE_OF)
    return run


@dataclass(frozen=True, slots=True)
class TrackedExperiment:
    """An experiment and its tags, as they were when it was found or last written."""

    id: str
    tags: dict[str, str]


def find_or_create_experiment(
    client: MlflowClient, name: str, artifacts: Path | None
) -> TrackedExperiment:
    """Find or create an experiment; files go to ``artifacts``, or to the server's default.

    Raises `DeliveryFailed` if it was deleted: only a person can decide about that.
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
    """Write the description of an experiment, unless it is unchanged."""
    if experiment.tags.get(NOTE) != note:
        _set_tag(client, experiment, NOTE, note)


def add_views(
    client: MlflowClient, experiment: TrackedExperiment, views: Mapping[str, str]
) -> None:
    """Write the views that an experiment lacks, as long as the page has room for them.

    An existing view stays as it is: a person may have changed it.
    """
    for tag, view in views.items():
        if tag not in experiment.tags and has_room(experiment, tag):
            _set_tag(client, experiment, tag, view)


def has_room(experiment: TrackedExperiment, view: str) -> bool:
    """Whether the page offers a view, or has room for it."""
    return view in experiment.tags or sum(map(is_view, experiment.tags)) < MOST_VIEWS


def _set_tag(client: MlflowClient, experiment: TrackedExperiment, tag: str, value: str) -> None:
    """Set a tag of an experiment; if MLflow refuses, only this tag is missing.

    If MLflow does not answer, the delivery is retried: the present tag is an earlier round's.
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
