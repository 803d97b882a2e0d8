"""A round, its correction and its model's tags, delivered through faults to a real MLflow."""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sqlalchemy import select, update

from monitor.domain.model import EffectKind
from monitor.rounds.delivery import deliver
from monitor.storage.outbox import effect_store
from monitor.storage.outbox.effect_store import NewEffect
from monitor.storage.rounds import round_store
from monitor.storage.tables import effects
from monitor.tracking import connection, values
from monitor.tracking.describe import verdict
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings
from monitor.tracking.runs import NOTE
from monitor.tracking.saved_views import charts_of, fleet_views, monitor_views
from tests.rounds.scene import MONDAY
from tests.storage.rows import add_round
from tests.tracking.reports import center, make_report

SHIFT = -0.1
LONG_ENOUGH = timedelta(hours=1, minutes=1)  # for the next try of whatever failed


def hurry(monkeypatch):
    """Wait a second where the product waits ten."""
    monkeypatch.setattr(connection, "CALL_SECONDS", 1)
    monkeypatch.setattr(connection, "HEALTH_SECONDS", 1)


@dataclass
class Story:
    """A round and its correction, delivered by the product's own runner under a clock of ours.

    ``meddle`` is what somebody does in MLflow between the two.
    """

    database: Any
    proxy: Any
    client: Any
    name: str
    meddle: Any = None
    now: Any = MONDAY
    order: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.round_id = add_round(self.database, monitor=self.name)
        to = MlflowSettings(tracking_uri=self.proxy.url, experiment_prefix=self.name)
        self.handler = MlflowHandler(to)
        self.client.create_registered_model(self.name)
        self.client.create_model_version(self.name, source="s3://models/somewhere")

    def add(self, key, kind, payload):
        with self.database.write() as store:
            monitor_id = round_store.read_round(store, self.round_id).monitor_id
            key = f"{self.name}/{key}"
            effect = NewEffect(key, monitor_id, self.round_id, kind, "mlflow", payload=payload)
            effect_store.add_effects(store, [effect], self.now)

    def deliver(self):
        """One pass, and the time until the next try of what failed."""
        deliver(
            self.database,
            {"mlflow": self.handler},
            lambda: self.now,
            on_delivered=lambda effect: self.order.append(effect.key.partition("/")[2]),
        )
        self.proxy.settle()
        found = self.stored()
        self.now += LONG_ENOUGH
        return found

    def deliver_all(self, passes):
        for _ in range(passes):
            if all(row.status == "done" for row in self.deliver()):
                return

    def stored(self):
        query = select(effects).where(effects.c.round_id == self.round_id).order_by(effects.c.id)
        with self.database.read() as store:
            return list(store.execute(query))

    def wrong(self):
        """Effects that are neither done nor wait for a try to come, or for their turn."""
        return [
            f"{row.key} is {row.status}, next try {row.next_try}"
            for row in self.stored()
            if row.status != "done"
            and not (row.status == "waiting" and (row.next_try > MONDAY or not row.tries))
        ]

    def give_up(self):
        """Let nothing of it stand in the way of the next story."""
        with self.database.write() as store:
            mine = effects.c.round_id == self.round_id
            store.execute(update(effects).where(mine).values(status="dropped"))

    def report(self, version):
        shift = SHIFT if version > 1 else 0.0
        model = f"models:/{self.name}/1"
        return make_report(3, monitor=self.name, version=version, shift=shift, model=model)

    def tell(self, version):
        payload = self.report(version).model_dump(mode="json")
        for kind in (EffectKind.ROUND_RUN, EffectKind.FLEET_POINT, EffectKind.MODEL_TAGS):
            self.add(f"{kind}/{version}", kind, payload)

    def play(self, passes):
        """Tell both versions; ``passes`` is how many tries each gets."""
        for version in (1, 2):
            self.tell(version)
            self.deliver_all(passes)
            if version == 1 and self.meddle:
                self.meddle(self)

    def runs(self, experiment, *, live=True):
        from mlflow.entities import ViewType  # noqa: PLC0415

        found = self.client.get_experiment_by_name(experiment)
        view = ViewType.ACTIVE_ONLY if live else ViewType.ALL
        return [] if found is None else self.client.search_runs([found.experiment_id], "", view)

    def violations(self):
        """What is wrong now that everything passes and all should be there."""
        found = self.wrong() + self._not_done() + self._out_of_order() + self._first_lines()
        for experiment in (f"{self.name}/{self.name}", self.name):
            runs = self.runs(experiment)
            if len(runs) != 1:
                found.append(f"{len(runs)} live runs in {experiment}")
            else:
                found += self._not_as_last_told(runs[0])
        tags = self.client.get_model_version(self.name, "1").tags
        shown = f"{center('precision', 3) + SHIFT:.3f} ["
        if not tags.get("monitor.precision", "").startswith(shown):
            found.append(f"the model version shows {tags}")
        return found

    def _not_done(self):
        return [f"{row.key} is {row.status}" for row in self.stored() if row.status != "done"]

    def _out_of_order(self):
        wanted = [row.key.partition("/")[2] for row in self.stored()]
        return [] if self.order == wanted else [f"delivered as {self.order}"]

    def _first_lines(self):
        """Experiments that do not begin with how the monitor stands, or lack a view."""
        wanted = {
            f"{self.name}/{self.name}": (verdict(self.report(2)), monitor_views()),
            self.name: ("[Monitors]", fleet_views() | charts_of(self.name)),
        }
        found = []
        for name, (line, views) in wanted.items():
            experiment = self.client.get_experiment_by_name(name)
            tags = experiment.tags if experiment else {}
            if not tags.get(NOTE, "").startswith(line):
                found.append(f"{name} is described as {tags.get(NOTE)!r}")
            if lacking := views.keys() - tags.keys():
                found.append(f"{name} lacks the views {sorted(lacking)}")
        return found

    def _not_as_last_told(self, run):
        report = self.report(2)
        found = []
        shown = run.data.metrics.get("precision/point")
        if shown is None or abs(shown - center("precision", 3) - SHIFT) > 1e-9:
            found.append(f"{run.info.run_name} shows precision {shown}")
        if run.data.tags.get("monitor.digest") != values.digest(report.model_dump(mode="json")):
            found.append(f"{run.info.run_name} is not complete")
        if "monitor.fleet_key" not in run.data.tags:
            found += self._files_not_as_last_told(run)
        return found

    def _files_not_as_last_told(self, run):
        files = {artifact.path for artifact in self.client.list_artifacts(run.info.run_id)}
        if not {"timeline.svg", "counts.json", "report.json"} <= files:
            return [f"only the files {sorted(files)}"]
        path = self.client.download_artifacts(run.info.run_id, "report.json")
        with open(path) as stream:  # noqa: PTH123
            version = json.load(stream)["version"]
        return [] if version == 2 else [f"report.json is of version {version}"]


def all_runs(client, experiment_id):
    """All runs of an experiment, however many pages of them there are."""
    token = None
    while True:
        page = client.search_runs([experiment_id], max_results=500, page_token=token)
        yield from page
        if not (token := page.token):
            return


def somebody_deletes_it(story):
    for run in story.runs(f"{story.name}/{story.name}"):
        story.client.delete_run(run.info.run_id)


def a_double_is_left_behind(story):
    for run in story.runs(f"{story.name}/{story.name}"):
        tags = {"monitor.round_key": run.data.tags["monitor.round_key"]}
        story.client.create_run(run.info.experiment_id, run.info.start_time + 1, tags)
