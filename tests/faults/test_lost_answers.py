"""R4: whichever answer is lost, spoiled or late, once or for ever: one run, nothing forgotten."""

from itertools import product

import pytest
from structlog.testing import capture_logs

from monitor.tracking.connection import load_mlflow
from tests.faults.deliveries import Story, a_double_is_left_behind, hurry, somebody_deletes_it
from tests.faults.proxy import FAULTS, FOR_EVER, RETRY_AFTER, FaultProxy
from tests.faults.sizes import SOAK

pytestmark = pytest.mark.server

TIMES = (1, 3, FOR_EVER)
TRIES = 5  # more than any fault that ends takes
TRIES_IN_VAIN = 2


@pytest.fixture(scope="module")
def mlflow_proxy(mlflow_url):
    with FaultProxy(mlflow_url, slowness=1.3) as proxy:
        yield proxy


@pytest.fixture
def client(mlflow_url):
    load_mlflow()
    from mlflow import MlflowClient  # noqa: PLC0415

    return MlflowClient(mlflow_url)


@pytest.fixture
def store_url(sqlite_url):
    return sqlite_url


def calls_of(story, proxy):
    """The calls of a story that meets no fault, each once, in their order."""
    del proxy.seen[:]
    story.play(TRIES)
    assert story.violations() == []
    return list(dict.fromkeys(proxy.seen))


def all_calls(database, proxy, client, label):
    """Each call of the handler, with a story in which it happens."""
    found: dict[str, object] = {}
    meddling = (None, somebody_deletes_it, a_double_is_left_behind)
    # What MLflow's client asks once in the life of a process could be met by no later story.
    Story(database, proxy, client, f"{label}-before").play(TRIES)
    for place, meddle in enumerate(meddling):
        story = Story(database, proxy, client, f"{label}-whole-{place}", meddle=meddle)
        for call in calls_of(story, proxy):
            found.setdefault(call, meddle)
    return found


def small(cases):
    """Every fault once with a call, all over the delivery, and two that lose a run that is made.

    And the one that MLflow's client keeps for as long as the process lives.
    """
    calls = list(dict.fromkeys(call for _, call, _ in cases))
    few = {(kind, calls[place * 5 % len(calls)]) for place, kind in enumerate(FAULTS)}
    few |= {(kind, c) for kind in ("dropped", "late") for c in calls if c.endswith("runs/create")}
    few |= {("emptied", call) for call in calls if call.endswith("runs/get")}
    return [
        (kind, call, times) for kind, call, times in cases if times == 1 and (kind, call) in few
    ]


def play(story, proxy, kind, call, times):
    """Play a story in which a call meets a fault; returns what went wrong."""
    del proxy.faulted[:]
    proxy.fault(kind, call, times)
    story.play(TRIES_IN_VAIN if times == FOR_EVER else TRIES)
    wrong = story.wrong()
    met, tries = len(proxy.faulted), sum(row.tries for row in story.stored())
    if met == 0:
        wrong.append("the fault was never met")
    if met > tries and kind != "emptied":  # which the client takes for an answer, and goes on
        wrong.append(f"{met} faulted requests in {tries} tries: somebody repeats them")
    proxy.mend()
    story.deliver_all(TRIES)
    return wrong + story.violations()


def test_whichever_call_to_mlflow_goes_wrong_there_is_one_run_with_the_last_version(
    database, mlflow_proxy, client, monkeypatch
):
    hurry(monkeypatch)
    meddling = all_calls(database, mlflow_proxy, client, "matrix")
    cases = list(product(FAULTS, meddling, TIMES))
    violations = {}

    with capture_logs():
        for number, (kind, call, times) in enumerate(cases if SOAK else small(cases)):
            story = Story(database, mlflow_proxy, client, f"case-{number}", meddle=meddling[call])
            found = play(story, mlflow_proxy, kind, call, times)
            story.give_up()
            if found:
                violations[kind, call, times] = found

    assert {call.rpartition("/")[2] for call in meddling} >= {"create", "restore", "delete"}
    assert violations == {}


def test_an_mlflow_that_asks_for_patience_is_left_alone_as_long(
    database, mlflow_proxy, client, monkeypatch
):
    hurry(monkeypatch)
    story = Story(database, mlflow_proxy, client, "patience")
    story.tell(1)
    mlflow_proxy.fault("limited", "/health")
    begun = story.now

    with capture_logs():
        first, *others = story.deliver()
    mlflow_proxy.mend()
    story.deliver_all(TRIES)

    assert "refuses requests now with status 429" in first.last_error
    for row in (first, *others):
        assert (row.next_try - begun).total_seconds() == RETRY_AFTER
    assert {row.status for row in story.stored()} == {"done"}
