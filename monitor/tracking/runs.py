"""Find the one run of a key, or make it, also in a retry.

MLflow has no unique key for runs, and an answer that is lost leaves a run behind. So: the key is
a tag given inside create, a search comes before and after it, and of several runs with the key
all sides keep the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from monitor.domain.errors import DeliveryFailed

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

DIGEST = "monitor.digest"
DUPLICATE_OF = "monitor.duplicate_of"
FORGOTTEN = "monitor.forgotten"
_REMOVED = (DUPLICATE_OF, FORGOTTEN)


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
    """What a run is made with, should there be none."""

    name: str
    start_ms: int
    tags: Mapping[str, str] = field(default_factory=dict)


def find_or_create(client: MlflowClient, experiment: str, key: RunKey, new: NewRun) -> Run:
    """Return the run of the key, restored if somebody deleted it, or created."""
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
    """Find the run of a key that all sides keep."""
    return next(iter(_with_key(client, experiment, key)), None)


def settle(client: MlflowClient, experiment: str, key: RunKey) -> Run:
    """Return the one run that every side keeps, after removing all others of the key.

    To be called when the own run is complete: so the run that is kept is complete, or is being
    completed by the worker who gets it from here.
    """
    runs = _with_key(client, experiment, key)
    if not runs:
        message = f"the MLflow run of {key.value} was removed while it was written; it is retried"
        raise DeliveryFailed(message, sink_down=False)
    keep, *duplicates = runs  # `_with_key` sorts alike for every worker, so all keep this one
    for other in duplicates:
        if _is_live(other):
            remove(client, other.info.run_id, DUPLICATE_OF, keep.info.run_id)
    return _live(client, keep)


def remove(client: MlflowClient, run_id: str, tag: str, why: str) -> None:
    """Delete a run so that it is not taken for the one that somebody deleted by hand."""
    client.set_tag(run_id, tag, why)
    client.delete_run(run_id)


def _with_key(client: MlflowClient, experiment: str, key: RunKey) -> list[Run]:
    """Find the runs of a key, the one to keep first; deleted ones too, but no removed doubles."""
    from mlflow.entities import ViewType  # noqa: PLC0415

    search_runs = client.search_runs(
        [experiment], f"tags.`{key.tag}` = '{key.safe}'", ViewType.ALL, max_results=100
    )
    runs = [run for run in search_runs if run.data.tags.get(key.tag) == key.safe]
    return sorted((run for run in runs if _is_live(run) or not _is_removed(run)), key=_rank)


def _rank(run: Run) -> tuple[bool, bool, int, str]:
    """Order by what all sides see alike at any time, so that no two keep different runs."""
    return _is_removed(run), not _is_live(run), run.info.start_time or 0, run.info.run_id


def _is_removed(run: Run) -> bool:
    return any(tag in run.data.tags for tag in _REMOVED)


def _is_live(run: Run) -> bool:
    return bool(run.info.lifecycle_stage == "active")


def _live(client: MlflowClient, run: Run) -> Run:
    if not _is_live(run):
        client.restore_run(run.info.run_id)
    for tag in _REMOVED:
        if tag in run.data.tags:
            client.delete_tag(run.info.run_id, tag)
    return run
