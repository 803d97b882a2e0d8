"""What is said, and how soon, when MLflow is down, slow, closed to us or a plain file."""

import logging
import os
import socket
import time
from contextlib import nullcontext
from typing import Any, cast

import pytest
from pydantic import ValidationError

from monitor.domain.errors import DeliveryFailed
from monitor.files.sqlite_address import absolute_address
from monitor.tracking import connection
from monitor.tracking.connection import Deadline, Timed, load_mlflow, shown
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings
from tests.servers import free_port
from tests.tracking.conftest import Stub, handler_for
from tests.tracking.reports import ROUND, make_effect, make_report
from tests.workers import python

pytestmark = pytest.mark.server


def test_nothing_there_is_said_at_once_with_what_waits(prefix):
    handler = handler_for(f"http://user:hunter2@127.0.0.1:{free_port()}", prefix)

    started = time.monotonic()
    with pytest.raises(DeliveryFailed, match=r"does not answer .*waits and is tried") as failure:
        handler.deliver(make_effect(ROUND, make_report(1)))

    assert time.monotonic() - started < 30  # of the 60 s that a delivery may take
    assert failure.value.sink_down
    assert "hunter2" not in str(failure.value)


def test_an_mlflow_that_takes_connections_and_never_answers_costs_less_than_15_seconds(
    prefix, monkeypatch
):
    assert connection.CONNECT_SECONDS + connection.HEALTH_SECONDS < 15
    monkeypatch.setattr(connection, "HEALTH_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        handler = handler_for(f"http://127.0.0.1:{silent.getsockname()[1]}", prefix)

        started = time.monotonic()
        with pytest.raises(DeliveryFailed) as failure:
            handler.deliver(make_effect(ROUND, make_report(1)))

    assert time.monotonic() - started < 30  # of the 60 s that a delivery may take
    assert failure.value.sink_down


def test_an_mlflow_that_is_slow_all_the_way_is_given_up_in_time(proxy, prefix, monkeypatch):
    handler = handler_for(proxy.url, prefix, timeout="1s")
    take = proxy._take

    def slowly(path):
        time.sleep(0.4)
        return take(path)

    monkeypatch.setattr(proxy, "_take", slowly)

    with pytest.raises(DeliveryFailed, match=r"too slowly: .* after 1 s"):
        handler.deliver(make_effect(ROUND, make_report(1)))


def test_a_database_that_cannot_be_opened_is_tried_once(tmp_path, prefix, monkeypatch):
    (tmp_path / "mlflow.db").mkdir()
    handler = handler_for(f"sqlite:///{tmp_path}/mlflow.db", prefix)
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)

    with pytest.raises(DeliveryFailed, match="unable to open database file"):
        handler.deliver(make_effect(ROUND, make_report(1)))

    assert not pauses


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_permission_names_the_experiment_and_what_to_do(prefix, status):
    with Stub(status, b"Permission denied") as stub:
        handler = handler_for(stub.url, prefix)

        with pytest.raises(DeliveryFailed) as failure:
            handler.deliver(make_effect(ROUND, make_report(1)))

        assert f"refuses experiment '{prefix}/mail-travel'" in str(failure.value)
        assert "MLFLOW_TRACKING_USERNAME" in str(failure.value)
        assert not failure.value.sink_down
        assert handler.check() == [str(failure.value).replace("/mail-travel'", "'")]


@pytest.mark.parametrize("proxies", [{}, {"http_proxy": "http://127.0.0.1:9"}])
def test_an_mlflow_that_only_a_proxy_reaches_is_not_knocked_at(monkeypatch, proxies):
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in proxies.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(socket, "create_connection", refuse)

    with nullcontext() if proxies else pytest.raises(ConnectionRefusedError):
        connection.check_reachable("http://mlflow.example:5000")


def refuse(*_):
    raise ConnectionRefusedError


def test_environment_and_loggers_are_as_before_after_a_delivery(handler, capfd):
    mlflow_level = logging.getLogger("mlflow").level
    before = dict(os.environ)

    handler.deliver(make_effect(ROUND, make_report(1)))

    assert dict(os.environ) == before
    assert logging.getLogger("mlflow").level == mlflow_level
    assert capfd.readouterr() == ("", "")


WITHOUT_LOADING = """
import sys
from monitor.domain.errors import DeliveryFailed
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings
from tests.tracking.reports import make_effect, make_report
handler = MlflowHandler(MlflowSettings(tracking_uri=sys.argv[1]))
try:
    handler.deliver(make_effect("round_run", make_report(1)))
except DeliveryFailed as error:
    print(error)
print(sorted({"mlflow", "matplotlib"} & set(sys.modules)))
"""


def test_while_mlflow_is_down_neither_mlflow_nor_figures_are_loaded():
    url = f"http://127.0.0.1:{free_port()}"

    told = python("-c", WITHOUT_LOADING, url, timeout=120)

    sentence, loaded = told.stdout.splitlines()
    assert sentence.startswith(f"MLflow at {url} does not answer (connection refused); ")
    assert loaded == "[]"


IN_A_PROCESS = """
import logging, os, sys
from pathlib import Path
logging.basicConfig(level=logging.INFO)
alembic = logging.getLogger("alembic")
from monitor.tracking.connection import load_mlflow
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings
assert "mlflow" not in sys.modules, "the settings must load without mlflow"
from tests.tracking.reports import make_effect, make_report
changes, watched = [], ("os.putenv", "os.unsetenv")
sys.addaudithook(lambda event, _: changes.append(event) if event in watched else None)
os.environ["A"] = "1"
assert changes == ["os.putenv"], "the hook does not see changes"
load_mlflow()  # with numpy, which changes it while it is imported
changes.clear()
folder, url, prefix = sys.argv[1:]
served = MlflowHandler(MlflowSettings(tracking_uri=url, experiment_prefix=prefix))
for kind in ("round_run", "fleet_point"):
    served.deliver(make_effect(kind, make_report(1)))
assert changes == []
handler = MlflowHandler(MlflowSettings(), Path(folder))
for kind in ("round_run", "fleet_point"):
    handler.deliver(make_effect(kind, make_report(1)))
assert handler.check() == []
assert (alembic.propagate, alembic.level) == (True, 0), "the host's own logging was changed"

import mlflow
client = mlflow.MlflowClient("sqlite:///" + folder + "/mlflow.db")
experiment = client.get_experiment_by_name("monitor/mail-travel")
(run,) = client.search_runs([experiment.experiment_id])
assert Path(client.download_artifacts(run.info.run_id, "timeline.svg")).stat().st_size > 1000
"""


@pytest.mark.slow
def test_a_delivery_changes_no_environment_and_a_sqlite_file_beside_the_config_works_quietly(
    mlflow_url, prefix, tmp_path
):
    """A thread that reads the environment meanwhile, as a look-up of a host does, may crash."""
    base, elsewhere = tmp_path / "with blank & ümlaut", tmp_path / "elsewhere"
    base.mkdir()
    elsewhere.mkdir()

    written = python("-c", IN_A_PROCESS, base, mlflow_url, prefix, cwd=elsewhere, timeout=120)

    assert (written.returncode, written.stdout, written.stderr) == (0, "", "")
    assert (base / "mlflow.db").is_file()
    assert list(elsewhere.iterdir()) == []


AT_ONCE = """
import sys, threading, time, traceback
from monitor.tracking.connection import load_mlflow


def load(is_first):
    while not is_first and "mlflow" not in sys.modules:
        time.sleep(0.001)  # until the first is at it
    try:
        load_mlflow()
        from mlflow.exceptions import MlflowException
        from mlflow import MlflowClient
    except BaseException:
        print(traceback.format_exc(), flush=True)


threads = [threading.Thread(target=load, args=(number == 0,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.slow
def test_threads_that_load_mlflow_at_once_break_nothing():
    told = python("-c", AT_ONCE, timeout=120)

    assert (told.stdout, told.returncode) == ("", 0)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    handler = MlflowHandler(MlflowSettings(tracking_uri="sqlite:///sub/mlflow.db"), tmp_path)

    assert handler.check() == [
        f"mlflow.tracking_uri: there is no folder {tmp_path}/sub for the database; make it or "
        "correct the URI"
    ]


def test_only_relative_sqlite_paths_are_made_absolute(tmp_path):
    assert absolute_address("sqlite:///a.db", tmp_path) == f"sqlite:///{tmp_path}/a.db"
    assert absolute_address("sqlite:////a.db", tmp_path) == "sqlite:////a.db"
    assert absolute_address("http://host:5000", tmp_path) == "http://host:5000"


def test_a_shown_uri_holds_no_password():
    assert (
        shown("postgresql://user:secret@db:5432/mlflow?x=secret") == "postgresql://db:5432/mlflow"
    )


@pytest.mark.parametrize("prefix", ["", "/a", "a//b", "it's", "a b"])
def test_a_prefix_that_would_make_odd_names_is_refused(prefix):
    with pytest.raises(ValidationError, match="cannot start the name of an experiment"):
        MlflowSettings(experiment_prefix=prefix)


@pytest.mark.parametrize(("left", "waits"), [(0.5, 1), (2.9, 2), (60, 10)])
def test_a_call_waits_for_no_more_than_what_the_delivery_has_left(monkeypatch, left, waits):
    """MLflow's client takes whole seconds, and at least one."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "99")
    load_mlflow()
    from mlflow.environment_variables import MLFLOW_HTTP_REQUEST_TIMEOUT  # noqa: PLC0415

    class Client:
        def waits(self):
            return MLFLOW_HTTP_REQUEST_TIMEOUT.get()

    with connection.one_try_and_quiet("http://127.0.0.1:1"):
        within = Timed(cast("Any", Client()), Deadline(left)).waits()

    assert (within, MLFLOW_HTTP_REQUEST_TIMEOUT.get()) == (waits, 99)
