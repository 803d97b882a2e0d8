"""R4 for hooks: each notice arrives at least once, in order, with one id, whatever goes wrong."""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import product

import pytest
from structlog.testing import capture_logs

from monitor.domain.model import EffectKind
from monitor.hooks.alertmanager import AlertmanagerHandler, AlertmanagerSettings
from monitor.hooks.apprise import AppriseHandler, AppriseSettings
from monitor.hooks.webhook import WebhookHandler, WebhookSettings
from tests.faults.deliveries import Queue
from tests.faults.proxy import FAULTS, FOR_EVER, RETRY_AFTER, FaultProxy
from tests.faults.sizes import SOAK
from tests.hooks.alertmanagers import now, real_alertmanager, wait_until
from tests.hooks.receivers import Receiver, notice

pytestmark = pytest.mark.server

SECRET = "a secret of twenty-four bytes"  # noqa: S105  made up
TIMES = (1, 3, FOR_EVER)
CASES = [(kind, times) for kind, times in product(FAULTS, TIMES) if SOAK or times == 1]
TRIES, TRIES_IN_VAIN = 5, 2
HOUR = timedelta(hours=1)


@pytest.fixture
def store_url(tmp_path):
    return f"sqlite:///{tmp_path}/monitor.db"


@pytest.fixture
def receiver():
    with Receiver() as running:
        yield running


@pytest.fixture
def proxy(receiver):
    with FaultProxy(receiver.root, slowness=1.3) as running:
        yield running


def webhook(url):
    values = {"url": f"{url}/hook", "secret": SECRET, "allow_private": True, "timeout": "1s"}
    return WebhookHandler(WebhookSettings.model_validate(values), "ops")


def alertmanager(url):
    values = {"kind": "alertmanager", "url": url, "allow_private": True, "timeout": "1s"}
    return AlertmanagerHandler(AlertmanagerSettings.model_validate(values), "ops")


def apprise(url):
    values = {"kind": "apprise", "url": f"{url}/hook".replace("http", "json"), "timeout": "1s"}
    return AppriseHandler(AppriseSettings.model_validate(values), "ops")


def tell(queue, *events):
    """An alert's life, an hour for each event."""
    for place, event in enumerate(events):
        at = now() - (len(events) - place) * HOUR
        told = notice(
            id=f"{queue.name}.{place}",
            event=event,
            monitor=queue.name,
            side="at_least",
            limit=0.8,
            at=at,
            since=now() - len(events) * HOUR,
            sentence=f"{queue.name}.{place}",
        )
        queue.add(told.id, EffectKind.NOTICE, told.model_dump(mode="json"))


def play(queue, kind, times):
    """Deliver through a fault; returns what is wrong with what the store says."""
    queue.proxy.fault(kind, "POST", times)
    queue.deliver_all(TRIES_IN_VAIN if times == FOR_EVER else TRIES)
    wrong = queue.wrong()
    queue.proxy.mend()
    queue.deliver_all(TRIES)
    return wrong + [f"{row.key} is {row.status}" for row in queue.stored() if row.status != "done"]


def firsts(ids):
    return list(dict.fromkeys(ids))


@pytest.mark.parametrize("make", [webhook, apprise])
def test_notices_arrive_in_order_with_one_id_each(database, proxy, receiver, make, tell_figures):
    if make is apprise:
        pytest.importorskip("apprise")
    violations = {}

    with capture_logs():
        for number, (kind, times) in enumerate(CASES):
            del receiver.got[:]
            queue = Queue(database, proxy, "ops", make(proxy.url), f"case-{number}")
            tell(queue, "alert.firing", "alert.revised", "alert.resolved")
            wrong = play(queue, kind, times)
            wanted = [f"{queue.name}.{place}" for place in range(3)]
            if wrong or firsts(ids_of(receiver)) != wanted:
                violations[kind, times] = [*wrong, ids_of(receiver)]

    what = f"{len(FAULTS)} faults x POST to hook {make.__name__}"
    tell_figures("R4", what=what, size=f"{len(CASES)} cases", violations=len(violations))
    assert violations == {}


def ids_of(receiver):
    """What each notice that arrived is known by; Apprise carries its sentence only."""
    found = []
    for _, headers, body in receiver.got:
        named = {name.lower(): value for name, value in headers.items()}
        found.append(named.get("webhook-id") or json.loads(body)["message"].split("\n")[0])
    return found


def test_alerts_open_and_end_in_a_real_alertmanager(database, receiver, tmp_path, tell_figures):
    violations = {}

    with (
        capture_logs(),
        real_alertmanager(tmp_path, receiver.url) as real,
        FaultProxy(real.url, slowness=1.3) as proxy,
    ):
        for number, (kind, times) in enumerate(CASES):
            name = f"case-{number}"
            queue = Queue(database, proxy, "ops", alertmanager(proxy.url), name)
            tell(queue, "alert.firing")
            wrong = play(queue, kind, times)
            if opened(real, name) != ["precision"]:
                wrong.append(f"open are {opened(real, name)}")
            tell(queue, "alert.firing", "alert.resolved")
            wrong += play(queue, kind, times)
            if wrong:
                violations[kind, times] = wrong
        wait_until(lambda: real.open() == [], "no alert is open")

    what = f"{len(FAULTS)} faults x POST to a real Alertmanager"
    tell_figures("R4", what=what, size=f"{len(CASES)} cases", violations=len(violations))
    assert violations == {}


def opened(real, name):
    return [labels["metric"] for labels in real.open() if labels["monitor"] == name]


def test_a_receiver_that_asks_for_patience_is_left_alone_by_all_that_waits_for_it(
    database, proxy, receiver
):
    queues = [Queue(database, proxy, "ops", webhook(proxy.url), name) for name in ("mail", "spam")]
    for queue in queues:
        tell(queue, "alert.firing")
    proxy.fault("limited")

    with capture_logs():
        [mail] = queues[0].deliver()
    [spam] = queues[1].stored()
    told_meanwhile = list(receiver.got)
    queues[0].deliver()

    waits = [(row.next_try - queues[1].now).total_seconds() for row in (mail, spam)]
    assert waits == [RETRY_AFTER] * 2
    assert told_meanwhile == []
    assert sorted(ids_of(receiver)) == ["mail.0", "spam.0"]
