"""Which version an alias names, asked of a real MLflow server and of a SQLite file."""

import shutil
import socket
import time
from datetime import timedelta

import pytest
from sqlalchemy import NullPool, create_engine, text

from monitor.domain.errors import DeliveryFailed
from monitor.tracking import connection
from monitor.tracking.aliases import MlflowAliases
from monitor.tracking.connection import load_mlflow
from monitor.tracking.mlflow import MlflowSettings
from tests.tracking.conftest import Stub

load_mlflow()  # without its telemetry, before anything else imports it

from mlflow import MlflowClient  # noqa: E402

pytestmark = pytest.mark.server


def aliases_of(url, **more):
    return MlflowAliases(MlflowSettings(tracking_uri=url, timeout=timedelta(seconds=10), **more))


def with_versions(client, name):
    client.create_registered_model(name)
    for _ in range(2):
        client.create_model_version(name, source="s3://models/somewhere")
    client.set_registered_model_alias(name, "champion", "1")


def test_a_server_is_asked_once_for_what_an_alias_names(proxy, client, prefix):
    with_versions(client, prefix)
    aliases = aliases_of(proxy.url)

    before = aliases.version_of(f"models:/{prefix}@champion")
    client.set_registered_model_alias(prefix, "champion", "2")
    after = aliases.version_of(f"models:/{prefix}@champion")

    assert (before, after) == ("1", "2")
    assert sum("alias" in call for call in proxy.seen) == 2


def test_an_alias_or_a_model_that_is_not_there_names_none(mlflow_url, client, prefix):
    with_versions(client, prefix)
    aliases = aliases_of(mlflow_url)

    assert aliases.version_of(f"models:/{prefix}@nobody") is None
    assert aliases.version_of(f"models:/{prefix}-nowhere@champion") is None


def test_names_that_mean_something_in_an_address_find_their_model(mlflow_url, client, prefix):
    name = f"{prefix} & co?"
    with_versions(client, name)

    assert aliases_of(mlflow_url).version_of(f"models:/{name}@champion") == "1"


def test_the_registry_may_be_a_database_beside_the_server(mlflow_url, mlflow_tables, tmp_path):
    shutil.copy(mlflow_tables, tmp_path / "registry.db")
    registry = f"sqlite:///{tmp_path / 'registry.db'}"
    with_versions(MlflowClient(registry, registry), "mail")
    aliases = aliases_of(mlflow_url, registry_uri=registry)

    assert aliases.version_of("models:/mail@champion") == "1"
    assert aliases.version_of("models:/mail@nobody") is None


@pytest.mark.parametrize(
    ("uri", "why"),
    [("file:///srv/mlruns", "of a server or a database are read; name a version in `model`"),
     ("./mlruns", "of a server or a database are read"),
     ("postgresql://mlflow:secret@127.0.0.1:1/mlflow", "does not answer")],
)  # fmt: skip
def test_a_registry_that_cannot_be_read_says_why_without_its_password(uri, why):
    with pytest.raises(DeliveryFailed, match=why) as refused:
        aliases_of(uri).version_of("models:/mail@champion")

    assert "secret" not in str(refused.value)


def test_a_file_that_is_not_there_yet_is_not_made_by_looking(tmp_path):
    aliases = aliases_of(f"sqlite:///{tmp_path / 'mlflow.db'}")

    with pytest.raises(DeliveryFailed, match="there is no such file yet"):
        aliases.version_of("models:/mail@champion")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [200, 401, 403, 404, 500, 503])
def test_an_answer_that_says_nothing_of_the_alias_is_no_answer(status):
    with Stub(status, body=b"<html>") as stub, pytest.raises(DeliveryFailed, match=stub.url):
        aliases_of(stub.url).version_of("models:/mail@champion")


def test_a_registry_that_does_not_answer_is_waited_for_once_a_minute(monkeypatch):
    monkeypatch.setattr(connection, "HEALTH_SECONDS", 0.5)
    with Stub(200, wait=30) as stub:
        aliases = MlflowAliases(MlflowSettings(tracking_uri=stub.url, timeout=timedelta(seconds=1)))
        begun = time.monotonic()
        for _ in range(20):
            with pytest.raises(DeliveryFailed, match="does not answer"):
                aliases.version_of("models:/mail@champion")
        took = time.monotonic() - begun

    assert 0.5 <= took < 5  # seconds, of the 10 that 20 waits would be


def all_but_spam(path):
    """A registry that tells nobody of one model, and of every other that it is at version 3."""
    return (
        (403, b'{"error_code": "PERMISSION_DENIED"}')
        if "name=spam&" in path
        else (200, b'{"model_version": {"version": "3"}}')
    )


def test_a_database_that_does_not_answer_is_waited_for_once_and_not_for_long():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        settings = MlflowSettings(
            tracking_uri=f"postgresql+psycopg://who@127.0.0.1:{port}/mlflow",
            timeout=timedelta(seconds=2),
        )
        aliases, began = MlflowAliases(settings), time.monotonic()
        for model in ("mail", "fraud", "spam"):
            with pytest.raises(DeliveryFailed, match="timeout"):
                aliases.version_of(f"models:/{model}@champion")
        took = time.monotonic() - began

    assert 1 < took < 5


def test_a_table_that_an_upgrade_of_mlflow_locks_is_not_waited_for(postgres_url):
    aliases = MlflowAliases(MlflowSettings(tracking_uri=postgres_url, timeout=timedelta(seconds=1)))
    with create_engine(postgres_url, poolclass=NullPool).connect() as upgrade:
        upgrade.execute(text("create table registered_model_aliases (name text)"))
        upgrade.commit()
        upgrade.execute(text("set idle_in_transaction_session_timeout = '10 s'"))
        upgrade.execute(text("lock table registered_model_aliases"))

        with pytest.raises(DeliveryFailed, match="statement timeout"):
            aliases.version_of("models:/mail@champion")


def test_a_model_that_is_not_told_of_keeps_no_other_from_being_looked_up():
    with Stub(all_but_spam) as stub:
        aliases = aliases_of(stub.url)
        for _ in range(2):
            with pytest.raises(DeliveryFailed, match="permission READ"):
                aliases.version_of("models:/spam@champion")

            assert aliases.version_of("models:/mail@champion") == "3"


def test_it_is_asked_again_after_a_while(proxy, client, prefix, monkeypatch):
    with_versions(client, prefix)
    aliases = aliases_of(proxy.url)
    proxy.fault("dropped", "alias", times=1)
    monkeypatch.setattr(connection, "PAUSE", 0)

    with pytest.raises(DeliveryFailed):
        aliases.version_of(f"models:/{prefix}@champion")

    assert aliases.version_of(f"models:/{prefix}@champion") == "1"


def test_a_file_that_is_no_registry_says_so(tmp_path):
    (tmp_path / "mlflow.db").write_text("no database")

    with pytest.raises(DeliveryFailed, match="file is not a database"):
        aliases_of(f"sqlite:///{tmp_path / 'mlflow.db'}").version_of("models:/mail@champion")
