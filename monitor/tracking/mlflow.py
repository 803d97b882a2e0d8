"""Effects done in MLflow: one run per round, one per monitor, tags on the model version."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import structlog
from pydantic import AfterValidator, Field

from monitor.domain.class_report import ClassReport
from monitor.domain.errors import ConfigRefused, DeliveryFailed
from monitor.domain.masking import one_at
from monitor.domain.model import Effect, EffectKind, untagged
from monitor.domain.report import RoundReport
from monitor.domain.setting_types import Duration, Settings
from monitor.files.sqlite_address import absolute_address, sqlite_path
from monitor.tracking import values
from monitor.tracking.artifact_check import try_files
from monitor.tracking.classes import write_classes
from monitor.tracking.connection import Connection, shown
from monitor.tracking.describe import as_far_as_fits, describe, verdict
from monitor.tracking.links import model_path, round_path, run_path, view_path
from monitor.tracking.model_page import (
    RoundLinks,
    model_version,
    watched_version,
    write_model_page,
)
from monitor.tracking.runs import (
    DIGEST,
    MOST_CHARACTERS,
    NewRun,
    RunKey,
    TrackedExperiment,
    add_views,
    find,
    find_or_create,
    find_or_create_experiment,
    has_room,
    settle,
    write_note,
)
from monitor.tracking.saved_views import (
    CHARTS,
    ROUNDS,
    charts_of,
    fleet_views,
    key_of,
    monitor_views,
)
from monitor.tracking.writing import (
    report_path,
    status_link,
    timeline_picture,
    write_fleet,
    write_round,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

log = structlog.get_logger("monitor.tracking")

ROUND_KEY = "monitor.round_key"
FLEET_KEY = "monitor.fleet_key"
CLASSES_KEY = "monitor.classes_key"
_CHECKED = "monitor.experiment"  # written to test permissions
_SETTLING = 3  # times that a racing worker may change which run is kept; then a later try settles


def _prefix(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)*", value):
        message = (
            f"{value!r} cannot start the name of an experiment; letters, digits, '_', '.', '-' and "
            "single '/' between them are wanted"
        )
        raise ValueError(message)
    return value


Address = Annotated[str, AfterValidator(one_at)]


class MlflowSettings(Settings):
    """Address of MLflow, and the names of our experiments.

    Credentials come from MLflow's own variables (``MLFLOW_TRACKING_USERNAME``, ...).
    ``registry_uri`` is the address of the model registry, if it is not the same. ``timeout`` is how
    long one delivery may take over the network. Set ``status_pages`` if MLflow's server serves our
    status pages (``mlflow server --app-name pr_monitor``): each run then links to its own.
    """

    tracking_uri: Address = "sqlite:///mlflow.db"  # MLflow's own default, beside the config
    registry_uri: Address | None = None
    experiment_prefix: Annotated[str, AfterValidator(_prefix)] = "monitor"
    timeout: Annotated[Duration, Field(ge=timedelta(seconds=1))] = timedelta(seconds=12)
    status_pages: bool = False


class MlflowHandler:
    """Deliver effects to MLflow; each is safe to repeat and ends as one run per key."""

    def __init__(self, settings: MlflowSettings, base_folder: Path = Path()) -> None:
        self._prefix, self._has_status_pages = settings.experiment_prefix, settings.status_pages
        uri = absolute_address(settings.tracking_uri, base_folder)
        self.shown = shown(uri)
        registry = settings.registry_uri and absolute_address(settings.registry_uri, base_folder)
        self._connection = Connection(uri, registry, settings.timeout.total_seconds())
        path = sqlite_path(uri)
        self._files = path.parent / "mlartifacts" if path else None
        self._experiments: dict[str, TrackedExperiment] = {}
        self._is_one = registry in {None, uri}  # else models are on another server than runs
        self._pages, self._models = _pages(uri), _pages(registry or uri)
        self._runs: dict[str, str] = {}  # of rounds written just now, by their keys

    def deliver(self, effect: Effect) -> str:
        """Deliver one effect; returns its path in MLflow's pages, or a model's URI.

        If a model version does not exist or takes no tags, only the tags are missing: the receipt
        says so.
        """
        is_of_block = effect.kind is EffectKind.CLASS_AVERAGES
        kind = ClassReport if is_of_block else RoundReport
        report: Any = kind.model_validate(dict(effect.payload))
        requested = f"experiment '{self._prefix}'"
        write: Callable[[MlflowClient, Any, Effect], str] = self._fleet_point
        if is_of_block:
            write = self._class_averages
        elif effect.kind is EffectKind.ROUND_RUN:
            requested, write = f"experiment '{self._prefix}/{report.monitor}'", self._round_run
        elif effect.kind is EffectKind.MODEL_TAGS:
            requested, write = f"tags on model version {report.watched}", self._model_tags
        try:
            with self._connection.open(requested) as client:
                return write(client, report, effect)
        except DeliveryFailed as error:
            self._experiments.clear()  # one of them may be gone
            if effect.kind is EffectKind.MODEL_TAGS and not error.sink_down:
                log.warning("model not tagged", model=report.watched, reason=str(error))
                return untagged(str(error))
            raise

    def load(self) -> None:
        """Import MLflow's library. Raises `DeliveryFailed` if it does not load."""
        self._connection.load()

    def check_model(self, uri: str) -> str:
        """Find which version of a registered model a URI names.

        Raises `ConfigRefused` if none exists, or this user may not see it; `DeliveryFailed` if
        MLflow does not answer.
        """
        try:
            with self._connection.open(f"model version {uri}") as client:
                result = model_version(client, uri)
        except DeliveryFailed as error:
            if error.sink_down:
                raise
            raise ConfigRefused(str(error)) from error
        return f"models:/{result.name}/{result.version}"

    def check(self, monitors: Sequence[str] = ()) -> list[str]:
        """Return problems that keep this MLflow from taking reports; empty if there are none.

        Creates missing experiments and sets a tag in each: the cheapest test of permissions.
        """
        for name in [self._prefix, *(f"{self._prefix}/{monitor}" for monitor in monitors)]:
            try:
                with self._connection.open(f"experiment {name!r}") as client:
                    experiment = self._experiment(client, name)
                    client.set_experiment_tag(experiment.id, _CHECKED, name)
            except DeliveryFailed as error:
                self._experiments.clear()
                return [str(error)]
        return []

    def check_files(self, monitors: Sequence[str] = ()) -> list[str]:
        """Write and remove a file in each experiment; return where files of runs go.

        Raises `DeliveryFailed` if one cannot be written.
        """
        locations = []
        for name in [self._prefix, *(f"{self._prefix}/{monitor}" for monitor in monitors)]:
            with self._connection.open(f"a file of experiment {name!r}") as client:
                experiment = self._experiment(client, name)
                locations.append(try_files(client, experiment.id, self._connection.tracking_uri))
        return locations

    def _round_run(self, client: MlflowClient, report: RoundReport, effect: Effect) -> str:
        experiment = self._experiment(client, f"{self._prefix}/{report.monitor}")
        key = RunKey(ROUND_KEY, report.round_key)
        new = _new_run(values.run_name(report), report)

        def write(run: Run, digest: str) -> None:
            links = [status_link(report)] if self._has_status_pages else []
            links.append(self._model_link(report))
            write_round(client, run, report, digest, links="\n\n".join(filter(None, links)))

        receipt = _write_once(client, experiment.id, key, new, effect, write)
        self._runs = {report.round_key: receipt.rpartition("/")[2]}  # its model's page comes next
        add_views(client, experiment, monitor_views())  # the figures come first
        return receipt

    def _fleet_point(self, client: MlflowClient, report: RoundReport, effect: Effect) -> str:
        experiment = self._experiment(client, self._prefix)
        key = RunKey(FLEET_KEY, f"{report.store_id}/{report.monitor}")
        new = _new_run(report.monitor, report)

        def write(run: Run, digest: str) -> None:
            if write_fleet(client, run, report, digest):
                self._write_verdict(client, report, experiment, run)
                write_note(client, experiment, self._fleet_note(experiment))
                add_views(client, experiment, fleet_views() | charts_of(report.monitor))

        return _write_once(client, experiment.id, key, new, effect, write)

    def _class_averages(self, client: MlflowClient, report: ClassReport, effect: Effect) -> str:
        experiment = self._experiment(client, self._prefix)
        key = RunKey(CLASSES_KEY, f"{report.store_id}/{report.block}")
        new = _new_run(f"{report.block} (all classes)", report)

        def write(run: Run, digest: str) -> None:
            write_classes(client, run, report, digest)

        return _write_once(client, experiment.id, key, new, effect, write)

    def _model_tags(self, client: MlflowClient, report: RoundReport, effect: Effect) -> str:  # noqa: ARG002
        version = watched_version(client, report)
        write_model_page(client, version, report, self._round_links(client, report))
        return f"models:/{version.name}/{version.version}"

    def _experiment(self, client: MlflowClient, name: str) -> TrackedExperiment:
        if name not in self._experiments:
            files = self._files and self._files / quote(name.replace("/", "-"), safe="")
            self._experiments[name] = find_or_create_experiment(client, name, files)
        return self._experiments[name]

    def _fleet_note(self, fleet: TrackedExperiment) -> str:
        monitors = view_path(fleet.id, key_of("Monitors", fleet_views()), charts=False)
        charts = view_path(fleet.id, key_of(CHARTS, fleet_views()), charts=True)
        return (
            f"[Monitors]({monitors}), most severe first · [Charts]({charts}) · one "
            f"monitor's charts: menu Views.\n\nA run per monitor, a step per round. The rounds "
            f"themselves are in the experiments `{self._prefix}/<monitor>`."
        )

    def _write_verdict(
        self, client: MlflowClient, report: RoundReport, fleet: TrackedExperiment, trend: Run
    ) -> None:
        """Write the monitor's status at the top of its experiment's page."""
        monitor_experiment = self._experiment(client, f"{self._prefix}/{report.monitor}")
        rounds = view_path(monitor_experiment.id, key_of(ROUNDS, monitor_views()), charts=False)
        chart_tags = charts_of(report.monitor)
        is_offered = all(has_room(fleet, tag) for tag in chart_tags)
        name, views = (report.monitor, chart_tags) if is_offered else (CHARTS, fleet_views())
        links = (
            f"[Last round]({round_path(monitor_experiment.id, report.round_key)})",
            f"[Rounds]({rounds})",
            f"[Charts]({view_path(fleet.id, key_of(name, views), charts=True)})",
        )
        run = self._run_of(client, monitor_experiment, report)
        page = [f"[Report]({report_path(monitor_experiment.id, run)})"] if run else []
        first = " · ".join([verdict(report), *links, *page])
        description = describe(report, timeline_picture(trend.info.run_id))
        write_note(
            client, monitor_experiment, as_far_as_fits(f"{first}\n\n{description}", MOST_CHARACTERS)
        )

    def _model_link(self, report: RoundReport) -> str:
        """Link to the page of a round's model; empty if it has none."""
        path = report.watched and model_path(report.watched)
        base = "" if self._is_one else self._models
        return f"Model: [{report.watched}]({base}{path})." if path else ""

    def _round_links(self, client: MlflowClient, report: RoundReport) -> RoundLinks:
        monitor_experiment = self._experiment(client, f"{self._prefix}/{report.monitor}")
        rounds = view_path(monitor_experiment.id, key_of(ROUNDS, monitor_views()), charts=False)
        run = self._run_of(client, monitor_experiment, report)
        path = (
            run_path(monitor_experiment.id, run)
            if run
            else round_path(monitor_experiment.id, report.round_key)
        )
        base = "" if self._is_one else self._pages
        return RoundLinks(
            round=f"{base}{path}",
            rounds=f"{base}{rounds}",
            address=f"{self._pages}{rounds}",
            picture=timeline_picture(run) if run and self._is_one else "",
        )

    def _run_of(
        self, client: MlflowClient, monitor_experiment: TrackedExperiment, report: RoundReport
    ) -> str | None:
        if not report.estimates:
            return None
        if report.round_key in self._runs:
            return self._runs[report.round_key]
        run = find(client, monitor_experiment.id, RunKey(ROUND_KEY, report.round_key))
        return None if run is None else str(run.info.run_id)


def _pages(uri: str) -> str:
    return f"{shown(uri).rstrip('/')}/" if uri.startswith(("http://", "https://")) else ""


def _new_run(name: str, report: RoundReport | ClassReport) -> NewRun:
    """Start runs at the slot: MLflow sorts by it, also after a backfill of a year."""
    return NewRun(name, values.milliseconds(report.slot), values.SOURCE_TAGS)


def _write_once(
    client: MlflowClient,
    experiment: str,
    key: RunKey,
    new: NewRun,
    effect: Effect,
    write: Callable[[Run, str], None],
) -> str:
    """Write into the run of a key, and into the run that is kept if workers raced.

    A run with the effect's digest is complete, unless an attempt failed: others may have written
    since.
    """
    digest = values.digest(effect.payload)
    run = find_or_create(client, experiment, key, new)
    for _ in range(_SETTLING):
        if effect.has_failed or run.data.tags.get(DIGEST) != digest:
            write(run, digest)
        settled = settle(client, experiment, key)
        if settled.info.run_id == run.info.run_id:
            return f"experiments/{experiment}/runs/{run.info.run_id}"
        run = settled
    message = f"other workers keep making MLflow runs for {key.value}; it is tried again"
    raise DeliveryFailed(message, sink_down=False)
