"""Read the rounds of a store from MLflow, and tag the ones that the store lost."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import DeliveryFailed
from monitor.domain.model import ShownRun
from monitor.files.sqlite_address import absolute_address, sqlite_path
from monitor.tracking.connection import Connection, SparingReads, shown
from monitor.tracking.mlflow import ROUND_KEY, MlflowSettings

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


RESTORED = "monitor.restored"
_REPORT = "report.json"
_PAGE = 500
_NEWEST_FIRST = ["attributes.start_time DESC"]  # a run starts at its slot


class MlflowRuns:
    """The runs of a store's rounds, found by their keys regardless of their history."""

    def __init__(self, settings: MlflowSettings, base_folder: Path = Path()) -> None:
        self._prefix = settings.experiment_prefix
        self._uri = absolute_address(settings.tracking_uri, base_folder)
        self._connection = Connection(self._uri, None, settings.timeout.total_seconds())
        self._sparing = SparingReads(self._uri, settings.timeout.total_seconds())

    def find(self, store_id: str, monitor: str) -> list[ShownRun]:
        """Find all runs of a monitor's rounds, deleted ones too, by slot and version."""
        all_runs: list[ShownRun] = []
        page: str | None = ""
        while page is not None:
            runs, page = self._page(self._connection, store_id, monitor, page)
            all_runs += runs
        return sorted(all_runs, key=lambda run: (run.slot, run.version))

    def newest_slot(self, store_id: str, monitor: str) -> datetime | None:
        """Find the latest slot that has a live run; None without one.

        The service asks often, so an MLflow that did not answer is not called for a while.
        """
        runs, _ = self._page(self._sparing, store_id, monitor, newest=True)
        return max((run.slot for run in runs), default=None)

    def report(self, run: ShownRun) -> dict[str, Any] | None:
        """Read the report that a run was written from; None if it is not there any more."""
        with TemporaryDirectory(prefix="monitor-") as folder:
            try:
                with self._connection.open("the report of a round") as client:
                    path = client.download_artifacts(run.run_id, _REPORT, folder)
                # MLflow 3.1 gives no path, and no error, for a file that is not there.
                report = json.loads(Path(path).read_text(encoding="utf-8")) if path else None
            except DeliveryFailed as error:
                if error.sink_down or error.lasting:
                    raise
                return None
            except ValueError:
                return None
        return report if isinstance(report, dict) else None

    def tag(self, run: ShownRun, restored: str) -> None:
        """Record in a run what its restored store has of it."""
        with self._connection.open("the run of a round that a store lost") as client:
            client.set_tag(run.run_id, RESTORED, restored)

    def _page(
        self,
        connection: Connection,
        store_id: str,
        monitor: str,
        page: str = "",
        *,
        newest: bool = False,
    ) -> tuple[list[ShownRun], str | None]:
        """Read a page of runs, and the next page's token; each page has the time of a delivery."""
        path = sqlite_path(self._uri)
        if path is not None and not path.is_file():  # looking into it would make one
            return [], None
        name = f"{self._prefix}/{monitor}"
        begin = f"{store_id}/{monitor}/"
        with connection.open(f"experiment {name!r}") as client:
            match: Any = _search(client, name, begin, page, newest=newest)
        token = getattr(match, "token", None)
        runs = [run for run in match if run.data.tags.get(ROUND_KEY, "").startswith(begin)]
        return [_shown(run, begin, self._uri) for run in runs], token or None


def _search(client: MlflowClient, name: str, begin: str, page: str, *, newest: bool) -> list[Run]:
    from mlflow.entities import ViewType  # noqa: PLC0415

    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return []
    view = ViewType.ACTIVE_ONLY if newest else ViewType.ALL
    of_round = f"tags.`{ROUND_KEY}` LIKE '{begin}%'"
    ids, most = [experiment.experiment_id], 1 if newest else _PAGE
    return client.search_runs(ids, of_round, view, most, _NEWEST_FIRST, page or None)


def _shown(run: Run, begin: str, uri: str) -> ShownRun:
    tags = run.data.tags
    is_server = uri.startswith(("http://", "https://"))
    number, page = tags.get("monitor.round"), f"experiments/{run.info.experiment_id}/runs"
    return ShownRun(
        run_id=run.info.run_id,
        slot=_slot(tags[ROUND_KEY], begin),
        version=int(tags.get("monitor.version", 0)),
        state=tags.get("monitor.state", ""),
        live=run.info.lifecycle_stage == "active",
        number=None if number is None else int(number),
        page=f"{shown(uri).rstrip('/')}/#/{page}/{run.info.run_id}" if is_server else None,
    )


def _slot(key: str, begin: str) -> datetime:
    slot = key.removeprefix(begin).partition("/")[2]
    return datetime.strptime(slot, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
