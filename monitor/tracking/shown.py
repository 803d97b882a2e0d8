"""What MLflow shows of the rounds of a store, and a tag for those that its store lost."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from monitor.domain.crashpoint import outside
from monitor.domain.errors import DeliveryFailed
from monitor.domain.masking import masked
from monitor.domain.mlflow_login import http_client, secrets
from monitor.domain.model import ShownRun
from monitor.domain.visible import visible
from monitor.files.sqlite_address import absolute_address, sqlite_path
from monitor.tracking.aliases import PAUSE
from monitor.tracking.connection import CALL_SECONDS, Connection, shown
from monitor.tracking.mlflow import ROUND_KEY, MlflowSettings

if TYPE_CHECKING:
    import httpx
    from mlflow import MlflowClient
    from mlflow.entities import Run


RESTORED = "monitor.restored"
_REPORT = "report.json"
_PAGE = 500
_LONGEST = 400  # characters of what was answered
_NEWEST_FIRST = ["attributes.start_time DESC"]  # a run starts at its slot


class MlflowRuns:
    """The runs of a store's rounds, found by their keys regardless of their history."""

    def __init__(self, settings: MlflowSettings, base_folder: Path = Path()) -> None:
        self._prefix = settings.experiment_prefix
        self._uri = absolute_address(settings.tracking_uri, base_folder)
        self._connection = Connection(self._uri, None, settings.timeout.total_seconds())
        self._seconds = min(settings.timeout.total_seconds(), CALL_SECONDS)
        self._failed: tuple[float, DeliveryFailed] | None = None

    def find(self, store_id: str, monitor: str) -> list[ShownRun]:
        """Find all runs of a monitor's rounds, deleted ones too, by slot and version."""
        all_runs: list[ShownRun] = []
        page: str | None = ""
        while page is not None:
            runs, page = self._page(store_id, monitor, page)
            all_runs += runs
        return sorted(all_runs, key=lambda run: (run.slot, run.version))

    def newest_slot(self, store_id: str, monitor: str) -> datetime | None:
        """Find the latest slot that has a live run; None without one.

        The service asks often: a server is asked without MLflow's library, and left alone for a
        while once it did not answer.
        """
        if self._failed is not None and time.monotonic() < self._failed[0] + PAUSE:
            raise self._failed[1]
        try:
            if _is_server(self._uri):
                return self._newest_by_http(store_id, monitor)
            runs, _ = self._page(store_id, monitor, "", newest=True)
        except DeliveryFailed as error:
            self._failed = time.monotonic(), error
            raise
        return max((run.slot for run in runs), default=None)

    def _newest_by_http(self, store_id: str, monitor: str) -> datetime | None:
        begin = f"{store_id}/{monitor}/"
        name = {"experiment_name": f"{self._prefix}/{monitor}"}
        try:
            with http_client(self._seconds) as client:
                answer = self._ask(client, "GET", "experiments/get-by-name", params=name)
                if answer is None:
                    return None
                search = {
                    "experiment_ids": [answer["experiment"]["experiment_id"]],
                    "filter": _of_round(begin),
                    "run_view_type": "ACTIVE_ONLY",
                    "max_results": 1,
                    "order_by": _NEWEST_FIRST,
                }
                runs = (self._ask(client, "POST", "runs/search", json=search) or {}).get("runs", [])
            tags = [tag for run in runs for tag in run["data"].get("tags", [])]
            keys = [tag["value"] for tag in tags if tag["key"] == ROUND_KEY]
            return max((_slot(key, begin) for key in keys if key.startswith(begin)), default=None)
        except (KeyError, TypeError, ValueError) as error:  # it is another program's answer
            why = f"{type(error).__name__} in its answer; is it MLflow?"
            raise self._no_answer(why) from error

    def _ask(self, client: httpx.Client, method: str, path: str, **more: Any) -> Any:
        """Ask a server; None if it does not know what it is asked for."""
        import httpx  # noqa: PLC0415  0.1 s, needed only where MLflow is asked

        address = f"{self._uri.rstrip('/')}/api/2.0/mlflow/{path}"
        try:
            with outside(f"mlflow {path}"):
                response = client.request(method, address, **more)
            answer = response.json()
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            why = masked(str(error) or type(error).__name__, secrets())
            raise self._no_answer(why) from None
        if response.is_success:
            return answer
        if answer["error_code"] == "RESOURCE_DOES_NOT_EXIST":
            return None
        why = f"it answers {response.status_code}"
        raise self._no_answer(why)

    def _no_answer(self, why: str) -> DeliveryFailed:
        message = f"MLflow at {shown(self._uri)} did not answer ({visible(why)[:_LONGEST]})"
        return DeliveryFailed(message)

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
        self, store_id: str, monitor: str, page: str, *, newest: bool = False
    ) -> tuple[list[ShownRun], str | None]:
        """Read some runs and where to go on; each page has the time of a delivery."""
        path = sqlite_path(self._uri)
        if path is not None and not path.is_file():  # looking into it would make one
            return [], None
        name = f"{self._prefix}/{monitor}"
        begin = f"{store_id}/{monitor}/"
        with self._connection.open(f"experiment {name!r}") as client:
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
    ids, most = [experiment.experiment_id], 1 if newest else _PAGE
    return client.search_runs(ids, _of_round(begin), view, most, _NEWEST_FIRST, page or None)


def _of_round(begin: str) -> str:
    return f"tags.`{ROUND_KEY}` LIKE '{begin}%'"


def _shown(run: Run, begin: str, uri: str) -> ShownRun:
    tags = run.data.tags
    number, page = tags.get("monitor.round"), f"experiments/{run.info.experiment_id}/runs"
    return ShownRun(
        run_id=run.info.run_id,
        slot=_slot(tags[ROUND_KEY], begin),
        version=int(tags.get("monitor.version", 0)),
        state=tags.get("monitor.state", ""),
        live=run.info.lifecycle_stage == "active",
        number=None if number is None else int(number),
        page=f"{shown(uri).rstrip('/')}/#/{page}/{run.info.run_id}" if _is_server(uri) else None,
    )


def _is_server(uri: str) -> bool:
    return uri.startswith(("http://", "https://"))


def _slot(key: str, begin: str) -> datetime:
    slot = key.removeprefix(begin).partition("/")[2]
    return datetime.strptime(slot, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
