"""What a real MLflow and a real receiver hold at the end, against what the store has."""

import json
from typing import Any

from monitor.domain.report import RoundReport
from monitor.tracking import values
from monitor.tracking.mlflow import ROUND_KEY
from tests.faults.deliveries import all_runs
from tests.storage.payloads import REPORTS


def wrong_runs(case, client, prefix):
    """One run for each round, which shows its last version."""
    last = {}
    for (payload,) in case.rows(REPORTS):
        report = json.loads(payload) if isinstance(payload, str) else payload
        last[report["round_key"]] = report
    shown: dict[str, list[Any]] = {}
    for run in runs_under(client, prefix):
        shown.setdefault(run.data.tags[ROUND_KEY], []).append(run)
    if sorted(shown) != sorted(last):
        yield f"MLflow and the store differ in runs: {sorted(set(shown) ^ set(last))}"
    for key in set(shown) & set(last):
        if len(shown[key]) != 1:
            yield f"{key} has {len(shown[key])} runs"
        wanted = values.metrics(RoundReport.model_validate(last[key]))
        found = shown[key][0].data.metrics
        digest = shown[key][0].data.tags.get("monitor.digest")
        is_last = digest == values.digest(last[key])
        if not is_last or {name: found.get(name) for name in wanted} != wanted:
            yield f"the run of {key} does not show version {last[key]['version']}"


def runs_under(client, prefix):
    """All runs of monitors."""
    for experiment in client.search_experiments(filter_string=f"name LIKE '{prefix}/%'"):
        yield from all_runs(client, experiment.experiment_id)


def wrong_notices(case, got):
    """Each arrives, by one id and with one body, and those of a monitor in order."""
    bodies: dict[str, set[bytes]] = {}
    for _, headers, body in got:
        bodies.setdefault(headers["webhook-id"], set()).add(body)
    for notice, texts in bodies.items():
        if len(texts) > 1:
            yield f"notice {notice} came with {len(texts)} bodies"
    first = {notice: place for place, notice in enumerate(bodies)}
    query = "select monitor_id, payload from effects where sink = 'ops' order by id"
    wanted: dict[int, list[str]] = {}
    for monitor, payload in case.rows(query):
        notice = json.loads(payload) if isinstance(payload, str) else payload
        wanted.setdefault(monitor, []).append(notice["id"])
    for monitor, ids in wanted.items():
        if lost := [notice for notice in ids if notice not in first]:
            yield f"notices of monitor {monitor} never came: {lost}"
        elif sorted(ids, key=first.__getitem__) != ids:
            yield f"notices of monitor {monitor} came in another order than {ids}"
