"""R5, and a real MLflow server killed in the middle: all rounds come, each once, in order."""

from __future__ import annotations

import shutil
import socket
import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from monitor.domain.sample_settings import Bands, Sample
from monitor.hooks.webhook import WebhookHandler, WebhookSettings
from monitor.rounds.delivery.deliver import deliver
from monitor.tracking.connection import load_mlflow
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings
from tests.faults.deliveries import hurry
from tests.faults.proxy import FaultProxy
from tests.faults.sizes import SOAK, sized
from tests.hooks.receivers import Receiver
from tests.mlflow_server import MlflowServer
from tests.rounds.scene import LIMITS, Scene, settings

if TYPE_CHECKING:
    from monitor.domain.ports import EffectHandler

pytestmark = pytest.mark.server

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
SECRET = "a secret of twenty-four bytes"  # noqa: S105  made up
SMALL = Sample(max_labels=20, bands=Bands(flagged=1, passed=1))
EMPTY_EACH = 3  # every third window is empty, so that its round has a notice for the hook


@pytest.fixture
def store_url(tmp_path):
    return f"sqlite:///{tmp_path}/monitor.db"


@pytest.fixture
def own_server(tmp_path, mlflow_tables):
    """A server that no other test uses, to be killed."""
    folder = tmp_path / "mlflow-server"
    folder.mkdir()
    shutil.copy(mlflow_tables, folder / "mlflow.db")
    with MlflowServer(folder) as server:
        yield server


class Outage:
    """A monitor with a hook that works and an MLflow that does not always."""

    def __init__(self, database, mlflow, hook, prefix):
        none = timedelta(0)  # an empty window ends its round at once
        asked = settings(limits=LIMITS, sample=SMALL, hooks=("ops",), late_labels=HOUR, grace=none)
        self.scene = Scene(database, asked, name=prefix)
        self.handlers: dict[str, EffectHandler] = {
            "ops": WebhookHandler(
                WebhookSettings.model_validate(
                    {"url": f"{hook.root}/hook", "secret": SECRET, "allow_private": True}
                )
            ),
        }
        self.reach(mlflow)
        self.order: list[int] = []
        self.longest = 0.0
        self.asked_in_vain: list[int] = []

    def reach(self, url):
        """Look for MLflow at this address from now on."""
        to = MlflowSettings(tracking_uri=url, experiment_prefix=self.scene.name)
        self.handlers["mlflow"] = MlflowHandler(to)

    def play(self, number):
        if number % EMPTY_EACH:
            self.scene.play(number, count=200)
        else:
            self.scene.run(number)

    def deliver(self):
        """One pass over what waits; notes how long it took and who did not answer."""
        started = time.monotonic()
        with capture_logs() as logs:
            done = deliver(
                self.scene.database,
                self.handlers,
                lambda: self.scene.now,
                on_delivered=lambda effect: self.order.append(effect.id),
            )
        self.longest = max(self.longest, time.monotonic() - started)
        vain = [line for line in logs if line["event"] == "not delivered"]
        self.asked_in_vain.append(len(vain))
        return done

    def waiting(self, sink):
        query = "select count(*) as n from effects where sink = :sink and status <> 'done'"
        return self.scene.rows(query, sink=sink)[0]["n"]

    def deliver_all(self, passes):
        for _ in range(passes):
            self.deliver()
            if not self.waiting("mlflow"):
                return
            self.scene.now += HOUR + MINUTE

    def violations(self, url, rounds):
        """What is wrong in MLflow and in the store once all should be there."""
        load_mlflow()
        from mlflow import MlflowClient  # noqa: PLC0415

        client = MlflowClient(url)
        name = self.scene.name
        numbers = [
            int(run.data.tags["monitor.round"])
            for run in runs_of(client, f"{name}/{name}")
            if run.data.tags.get("monitor.digest")
        ]
        steps = [
            point.step
            for run in runs_of(client, name)
            for point in client.get_metric_history(run.info.run_id, "round/labels")
        ]
        closed = [n for n in range(1, rounds + 1) if n % EMPTY_EACH]
        found = []
        if numbers != list(range(1, rounds + 1)):
            found.append(f"runs of rounds {numbers}")
        if steps != closed:
            found.append(f"points at {steps}")
        return found + self._wrong_in_the_store()

    def _wrong_in_the_store(self):
        mine = [row["id"] for row in self.scene.rows("select id from effects where sink='mlflow'")]
        told = [each for each in self.order if each in set(mine)]
        open_ = self.scene.rows("select key, status from effects where status <> 'done'")
        wrong = [f"{row['key']} is {row['status']}" for row in open_ if "/log" not in row["key"]]
        return wrong if told == sorted(mine) else [*wrong, f"delivered as {told}"]


def runs_of(client, experiment):
    found = client.get_experiment_by_name(experiment)
    if found is None:
        return []
    return client.search_runs(
        [found.experiment_id], order_by=["attributes.start_time ASC"], max_results=1000
    )


@contextmanager
def outage(database, mlflow, name):
    with Receiver() as hook:
        yield Outage(database, mlflow, hook, name), hook


@pytest.mark.parametrize("rounds", [1, 10, *([100] if SOAK else [])])
def test_rounds_while_mlflow_is_down_are_all_delivered_once_and_in_order(
    database, mlflow_url, monkeypatch, rounds, tell_figures
):
    hurry(monkeypatch)
    with (
        FaultProxy(mlflow_url) as proxy,
        outage(database, proxy.url, f"down-{rounds}") as (down, hook),
    ):
        proxy.down()
        told = []
        for number in range(1, rounds + 1):
            down.play(number)
            down.deliver()
            told.append(down.waiting("ops"))
        tries, longest = [*down.asked_in_vain], down.longest
        waited = down.waiting("mlflow")
        notices = len(hook.got)
        proxy.up()
        down.scene.now += HOUR
        down.deliver_all(passes=2)

        violations = down.violations(mlflow_url, rounds)

    assert waited >= rounds
    assert max(tries) == 1  # of all that waits one is tried, so a pass costs one wait
    assert told == [0] * rounds  # the hook had every notice in the pass that brought it
    assert notices >= rounds // EMPTY_EACH
    assert violations == []
    what = f"MLflow's port closed; longest pass meanwhile {longest:.1f} s"
    tell_figures("R5", what=what, size=f"{rounds} rounds", violations=len(violations))


@pytest.mark.soak
def test_a_pass_over_an_mlflow_that_never_answers_asks_once_and_ends_in_time(
    database, mlflow_url, tell_figures
):
    """With the product's own waits, which other tests shorten."""
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        outage(database, f"http://127.0.0.1:{silent.getsockname()[1]}", "silent") as (mute, _),
    ):
        mute.play(1)
        for _ in range(3):
            mute.deliver()
            mute.scene.now += HOUR
        asked, longest = [*mute.asked_in_vain], mute.longest
        mute.reach(mlflow_url)
        mute.deliver_all(passes=2)
        violations = mute.violations(mlflow_url, 1)

    what = f"MLflow never answers; longest pass {longest:.1f} s"
    tell_figures("R5", what=what, size=f"{len(asked)} passes", violations=len(violations))
    assert max(asked) == 1
    assert violations == []


@pytest.mark.soak
def test_a_pass_over_an_mlflow_that_is_slow_all_the_way_ends_in_time(
    database, mlflow_url, tell_figures
):
    """With the product's own waits too: every call is answered, the delivery takes too long."""
    with (
        FaultProxy(mlflow_url, slowness=4) as proxy,
        outage(database, proxy.url, "slow") as (slow, _),
    ):
        proxy.fault("slow", times=10**6)
        slow.play(1)
        slow.deliver()
        asked = [*slow.asked_in_vain]
        proxy.mend()
        proxy.settle()
        slow.scene.now += HOUR
        slow.deliver_all(passes=2)
        violations = slow.violations(mlflow_url, 1)

    what = f"MLflow answers each call after 4 s; longest pass {slow.longest:.1f} s"
    tell_figures("R5", what=what, size=f"{len(asked)} passes", violations=len(violations))
    assert asked == [1]
    assert violations == []


CALLS = ("runs/create", "log-batch", "report.json", "runs/update", "set-tag", "experiments/create")


def test_an_mlflow_server_killed_in_mid_call_and_restarted_has_every_round_once(
    database, own_server, monkeypatch, tell_figures
):
    """The call that it dies in is on its way when it dies."""
    hurry(monkeypatch)
    kills = sized(small=2, soak=18)
    with (
        FaultProxy(own_server.url) as proxy,
        outage(database, proxy.url, "killed") as (killed, _),
    ):
        for number in range(1, kills + 1):
            killed.play(number)
            proxy.when[CALLS[(number - 1) % len(CALLS)]] = own_server.kill
            killed.deliver()
            if not own_server.answers():
                own_server.start()
            killed.scene.now += HOUR
            killed.deliver_all(passes=3)
        violations = killed.violations(own_server.url, kills)

    died = sum(killed.asked_in_vain)
    size = f"{died} kills in {kills} rounds"
    tell_figures("R5", what="MLflow server killed -9", size=size, violations=len(violations))
    assert died >= min(kills, len(CALLS) - 1)
    assert violations == []
