"""Traces on real servers of MLflow: written by OpenTelemetry, behind a prefix and a login."""

import runpy
import secrets
import uuid
from datetime import timedelta
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from mlflow import MlflowClient
from mlflow.tracing.client import TracingClient

from monitor.domain.errors import DeliveryFailed, SourceRefused, SourceUnavailable
from monitor.domain.model import Answer, Task, Window
from monitor.plugins.mlflow_traces.labels import FeedbackLabeler
from monitor.plugins.mlflow_traces.paths import split_item
from monitor.plugins.mlflow_traces.settings import FeedbackLabels
from tests.faults.proxy import FOR_EVER, FaultProxy
from tests.mlflow_server import MlflowServer, accounts
from tests.plugins.mlflow_traces.feedback_scene import answer_all, item_of, put_back, value_of
from tests.plugins.mlflow_traces.trace_store import TraceStore, source_of
from tests.rounds.scene import Scene, settings
from tests.servers import cannot_start
from tests.service.pages.people import on_page
from tests.sources.prediction_files import TWO, WEEK

EXAMPLE = runpy.run_path(str(Path(__file__).parents[3] / "examples/guardrail.py"))
MESSAGES = list(islice(EXAMPLE["messages"](), 40))
WHOLE = Window(EXAMPLE["START"], EXAMPLE["START"] + timedelta(weeks=1))
FLAGGED = {"predicted": "outputs.flagged", "show": ["inputs.text"]}


def gate(uri, experiment, **changes):
    settings = {"experiment": experiment, "span": "toxicity", "columns": FLAGGED}
    at = SimpleNamespace(uri=uri)
    return source_of(at, **{**settings, "threshold": None, **changes})


def experiment_at(uri):
    """A new experiment with the example's first messages, and these."""
    name = f"bot {uuid.uuid4().hex}"
    number = MlflowClient(uri).create_experiment(name)
    # A server keeps each trace id once, in the experiment that had it first.
    messages = [message._replace(id=uuid.uuid4().hex) for message in MESSAGES]
    EXAMPLE["post"](uri, number, messages)
    return name, number, messages


def test_spans_posted_by_opentelemetry_are_the_predictions(mlflow_url):
    name, _, messages = experiment_at(mlflow_url)
    source = gate(mlflow_url, name)

    frame = source.scan(WHOLE, TWO, 99, "s")

    flagged = [each for each in messages if EXAMPLE["score"](each.text) >= 0.5]
    assert (frame.size, frame.flagged_size) == (len(MESSAGES), len(flagged))
    drawn = [one.id for part in frame.strata if part.stratum.flagged for one in part.candidates]
    texts = {f"tr-{each.id}/{each.id[16:]}": {"inputs.text": each.text} for each in flagged}
    assert source.show(drawn, WHOLE) == texts
    assert source.span() == (MESSAGES[0].at, MESSAGES[-1].at)


@pytest.mark.thorough
def test_a_round_of_a_server_on_postgresql_ends_with_its_answers_on_the_spans(
    database, postgres_url, tmp_path
):
    with MlflowServer(tmp_path, more=("--backend-store-uri", postgres_url)) as server:
        name, _, _ = experiment_at(server.url)
        scene = Scene(database, settings(labels=8), source=gate(server.url, name))
        on_page(scene, tmp_path).now = WHOLE.end
        scene.run()
        keys = answer_all(scene, Answer.POSITIVE)
        scene.run()
        delivered = put_back(scene)

        client = TracingClient(server.url)
        drawn = [split_item(item_of(scene, key)) for key in keys]
        given = [(span_id, client.get_trace_info(trace_id)) for trace_id, span_id in drawn]

    assert scene.round(1).state == "closed"
    assert (delivered.failed, len(keys)) == ({}, 8)
    for span_id, info in given:
        [own] = info.assessments
        assert (own.name, own.span_id, own.source.source_id) == ("mail", span_id, "ada")
        assert value_of(own) is True


def test_a_deleted_experiment_is_refused_by_name(mlflow_url):
    name, number, _ = experiment_at(mlflow_url)
    MlflowClient(mlflow_url).delete_experiment(number)

    with pytest.raises(SourceRefused, match=r"was deleted; restore it, or correct source\.exper"):
        gate(mlflow_url, name).scan(WHOLE, TWO, 9, "s")


def test_a_server_that_goes_down_in_the_middle_of_a_read_is_tried_again(mlflow_url, monkeypatch):
    monkeypatch.setattr("monitor.plugins.mlflow_traces.reading.PAGE", 10)
    name, _, _ = experiment_at(mlflow_url)
    with FaultProxy(mlflow_url) as server:
        pages = gate(server.url, name).reader.pages(WHOLE, spans=False)
        first = next(pages)
        server.fault("refused", times=FOR_EVER)

        with pytest.raises(SourceUnavailable, match=r"does not answer .* is tried again"):
            next(pages)

    assert len(first) == 10


def grant(server, password, permission):
    """Let `reader` do something with the experiment of the traces."""
    given = {"username": "reader", "resource_type": "experiment", "resource_id": "1"}
    address = f"{server.url}/api/3.0/mlflow/users/permissions"
    with httpx.Client(auth=("root", password), trust_env=False, timeout=60) as root:
        root.post(f"{address}/revoke", json=given)  # one that was not granted is refused
        granted = root.post(f"{address}/grant", json={**given, "permission": permission})
        granted.raise_for_status()


@pytest.mark.slow
def test_a_login_and_a_prefix_are_those_of_mlflows_own_client(tmp_path, monkeypatch):
    if find_spec("flask_wtf") is None:
        cannot_start("mlflow[auth] is not installed (requirements/dev.lock)")
    password = secrets.token_urlsafe(16)
    more = ("--app-name", "basic-auth")
    environment = accounts(tmp_path, password)
    store = TraceStore(tmp_path)
    store.add("tr-1", WEEK.start, tags={"score": "0.9"})
    with MlflowServer(tmp_path, more=more, environment=environment, prefix="/flow") as server:
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", password)
        made = {"username": "reader", "password": password}
        address = f"{server.url}/api/2.0/mlflow/users/create"
        with httpx.Client(auth=("root", password), trust_env=False, timeout=60) as root:
            assert root.post(address, json=made).status_code == 200
        source = source_of(SimpleNamespace(uri=server.url), columns={"score": "tags.score"})
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "reader")
        with pytest.raises(SourceRefused, match="the user needs permission READ there"):
            source.scan(WEEK, TWO, 9, "s")
        grant(server, password, "READ")
        assert source.scan(WEEK, TWO, 9, "s").size == 1
        with pytest.raises(DeliveryFailed, match=r"\(source\.answers\) .* needs permission EDIT"):
            source.try_answers("mail")
        grant(server, password, "EDIT")
        assert source.try_answers("mail") == "feedback 'mail' on traces of experiment 'support-bot'"
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "root")

        assert source.scan(WEEK, TWO, 9, "s").size == 1
        for value in (True, False):
            source.put_answers("mail", "key", {"tr-1": {"ada": value}, "tr-deleted": {"ada": True}})
        labeler = FeedbackLabeler(FeedbackLabels(name="mail"), source.reader)
        tasks = {"t": Task(key="t", item_id="tr-1", shown={})}
        [event] = labeler.collect(tasks, None).events
        assert (event.annotator, event.answer) == ("ada", Answer.NEGATIVE)
        source.put_answers("mail", "key", {"tr-1": {}})
        assert labeler.collect(tasks, None).events == ()
