"""A user of MLflow's accounts who may only read, or see nothing: told plainly, and rounds go on."""

import secrets
from datetime import timedelta
from importlib.util import find_spec

import httpx
import pytest
from structlog.testing import capture_logs

from monitor.domain.errors import DeliveryFailed
from monitor.domain.model import why_untagged
from monitor.domain.state import RoundState
from monitor.rounds.delivery import deliver
from monitor.tracking.aliases import MlflowAliases
from monitor.tracking.connection import load_mlflow
from monitor.tracking.mlflow import MlflowSettings
from monitor.tracking.saved_views import monitor_views
from tests.mlflow_server import MlflowServer, accounts
from tests.rounds.scene import LIMITS, Scene, settings
from tests.servers import cannot_start
from tests.tracking.conftest import handler_for
from tests.tracking.reports import FLEET, ROUND, TAGS, make_effect, make_report
from tests.tracking.test_challenger import challenger, comparison

pytestmark = [pytest.mark.server, pytest.mark.slow]
LONG_ENOUGH = timedelta(days=1)  # for the next try


class Accounts:
    """A server with accounts: its administrator, and users who may what they are given."""

    def __init__(self, url, password):
        self.url, self.password = url, password

    def ask(self, path, **body):
        answer = httpx.post(
            f"{self.url}/api/{path}",
            json=body,
            auth=("root", self.password),
            trust_env=False,
            timeout=60,
        )
        assert answer.status_code == 200, answer.text

    def add(self, name, **permissions):
        """Add a user with a permission on each of some experiments, by their numbers."""
        self.ask("2.0/mlflow/users/create", username=name, password=self.password)
        for experiment, permission in permissions.items():
            self.grant(name, "experiment", experiment.removeprefix("e"), permission)

    def grant(self, name, kind, what, permission):
        """Give a user a permission on an experiment or a model."""
        self.ask(
            "3.0/mlflow/users/permissions/grant",
            username=name,
            resource_type=kind,
            resource_id=what,
            permission=permission,
        )

    def be(self, monkeypatch, name):
        """Let the client of MLflow be a user."""
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", name)
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", self.password)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if find_spec("flask_wtf") is None:
        cannot_start("mlflow[auth] is not installed (requirements/dev.lock)")
    folder = tmp_path_factory.mktemp("mlflow-permissions")
    password = secrets.token_urlsafe(16)
    more = ("--app-name", "basic-auth")
    with MlflowServer(folder, more=more, environment=accounts(folder, password)) as running:
        yield Accounts(running.url, password)


@pytest.fixture
def experiments(server, monkeypatch, prefix):
    """Experiments of a monitor and of all, made by the administrator."""
    server.be(monkeypatch, "root")
    handler = handler_for(server.url, prefix)
    receipts = [handler.deliver(make_effect(kind, make_report(1))) for kind in (ROUND, FLEET)]
    return [f"e{receipt.split('/')[1]}" for receipt in receipts]


@pytest.fixture
def store_url(sqlite_url):
    return sqlite_url


@pytest.mark.parametrize("permission", ["READ", None])
def test_a_user_who_may_not_write_is_told_what_is_missing(
    server, experiments, monkeypatch, prefix, permission
):
    given = dict.fromkeys(experiments, permission) if permission else {}
    server.add(f"{prefix}-{permission}", **given)
    server.be(monkeypatch, f"{prefix}-{permission}")
    handler = handler_for(server.url, prefix)

    [said] = handler.check(["mail-travel"])
    with pytest.raises(DeliveryFailed, match=r"refuses experiment .*: the user needs") as refused:
        handler.deliver(make_effect(ROUND, make_report(2)))

    assert said.startswith(f"MLflow at {server.url} refuses experiment '{prefix}'")
    assert "permission EDIT" in said
    assert refused.value.lasting


def test_a_round_that_the_user_may_not_tell_closes_and_waits(
    database, server, experiments, monkeypatch, prefix
):
    name = f"{prefix}-READ"
    server.add(name, **dict.fromkeys(experiments, "READ"))
    server.be(monkeypatch, name)
    handlers = {"mlflow": handler_for(server.url, prefix)}
    scene = Scene(database, settings(limits=LIMITS), name="mail-travel")

    played = [scene.play(number).state for number in (1, 2)]
    with capture_logs() as logs:
        result = deliver(database, handlers, lambda: scene.now)

    query = "select status, last_error from effects where sink = 'mlflow'"
    kept = scene.rows(query)
    assert played == [RoundState.CLOSED] * 2
    assert {row["status"] for row in kept} == {"waiting"}
    assert "permission EDIT" in result.failed["mlflow"]
    assert [line["event"] for line in logs].count("not delivered") == 1

    server.be(monkeypatch, "root")  # somebody grants it
    scene.now += LONG_ENOUGH
    deliver(database, handlers, lambda: scene.now)

    assert {row["status"] for row in scene.rows(query)} == {"done"}


def test_a_user_who_may_not_write_the_model_costs_its_tags_and_nothing_else(
    server, experiments, monkeypatch, prefix
):
    root = client_of(server)
    root.create_registered_model(prefix)
    root.create_model_version(prefix, source="s3://models/somewhere")
    root.set_registered_model_alias(prefix, "champion", "1")
    server.add(f"{prefix}-user", **dict.fromkeys(experiments, "EDIT"))
    server.be(monkeypatch, f"{prefix}-user")
    compared = challenger(alone=comparison(1))
    report = make_report(2, model=f"models:/{prefix}/1", challenger=compared)
    handler = handler_for(server.url, prefix)
    aliases = MlflowAliases(MlflowSettings(tracking_uri=server.url))

    *_, hidden = (handler.deliver(make_effect(kind, report)) for kind in (ROUND, FLEET, TAGS))
    with pytest.raises(DeliveryFailed, match="permission READ"):
        aliases.version_of(f"models:/{prefix}@champion")
    server.grant(f"{prefix}-user", "registered_model", prefix, "READ")
    refused = handler.deliver(make_effect(TAGS, report))

    said = [why_untagged(receipt) or "" for receipt in (hidden, refused)]
    assert "permission READ" in said[0]
    assert "permission EDIT" in said[1]
    assert aliases.version_of(f"models:/{prefix}@champion") == "1"
    own = root.get_experiment_by_name(f"{prefix}/mail-travel")
    assert set(monitor_views()) <= set(own.tags)
    assert own.tags["mlflow.note.content"].startswith("**OK.**")
    runs = root.search_runs([own.experiment_id], "tags.`monitor.round` = '2'")
    assert [run.data.metrics["challenger/recall"] for run in runs] == [0.66]


def client_of(server):
    load_mlflow()
    from mlflow import MlflowClient  # noqa: PLC0415

    return MlflowClient(server.url)
