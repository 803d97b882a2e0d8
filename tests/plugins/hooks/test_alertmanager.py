"""Alerts open, stay and end in Alertmanager as they do here."""

import json
from datetime import datetime, timedelta

import pytest
from pydantic import ValidationError

from monitor.domain.errors import DeliveryFailed
from monitor.hooks.context import HookContext
from monitor.plugins.hooks.alertmanager import AlertmanagerHandler, AlertmanagerSettings, as_alert
from tests.hooks.receivers import Receiver, effect, notice
from tests.plugins.hooks.alertmanagers import StandIn, now, real_alertmanager
from tests.workers import eventually

pytestmark = pytest.mark.server

HOUR = timedelta(hours=1)
LABELS = {
    "alertname": "PrMonitorLimit",
    "monitor": "mail-travel",
    "metric": "precision",
    "side": "at_least",
}


def settings(url="http://127.0.0.1:9093", **changes):
    values = {"kind": "alertmanager", "url": url, "allow_private": True, **changes}
    return AlertmanagerSettings.model_validate(values)


def handler_for(url, clock=now, **changes):
    return AlertmanagerHandler(settings(url, **changes), HookContext("am", clock=clock))


def moved(event, at, **changes):
    """What is told of one alert, opened two hours before now."""
    values = {"event": event, "side": "at_least", "limit": 0.8, "at": at, "alert": "a1"}
    return values | {"since": now() - 2 * HOUR, "to_do": "Look.", **changes}


@pytest.fixture
def alertmanager():
    with StandIn() as found:
        yield found


def test_an_alert_is_open_from_its_firing_until_long_after_now(alertmanager):
    at = now() - 2 * HOUR

    receipt = handler_for(alertmanager.url, labels={"team": "ml"}).deliver(
        effect(**moved("alert.firing", at))
    )

    [(headers, [alert])] = alertmanager.posts
    assert receipt == "HTTP 200"
    assert headers["content-type"] == "application/json"
    assert "authorization" not in {name.lower() for name in headers}
    assert alert["labels"] == LABELS | {"team": "ml"}
    assert datetime.fromisoformat(alert["startsAt"]) == at
    assert timedelta(days=6) < datetime.fromisoformat(alert["endsAt"]) - now() < timedelta(days=8)
    assert alert["annotations"] == {
        "summary": notice().sentence,
        "description": "Look.",
        "id": "a1.firing.12",
        "event": "alert.firing",
        "round": "12",
        "limit": "0.8",
        "point": "0.71",
    }


@pytest.mark.parametrize("event", ["alert.resolved", "alert.revised"])
@pytest.mark.parametrize("ahead", [timedelta(0), 3 * HOUR], ids=["clock right", "clock ahead"])
def test_what_ends_an_alert_has_its_labels_and_a_time_that_has_passed(alertmanager, event, ahead):
    handler = handler_for(alertmanager.url)

    handler.deliver(effect(**moved("alert.firing", now() - 2 * HOUR + ahead)))
    opened = alertmanager.open_at(now())
    end = now() - HOUR + ahead
    handler.deliver(effect(**moved(event, end, since=end - HOUR)))

    assert opened == [LABELS]
    assert alertmanager.open_at(now()) == []
    assert len(alertmanager.known) == 1


def test_kept_alerts_are_open_again_after_it_forgot_them(alertmanager):
    handler = handler_for(alertmanager.url)
    open_one = notice(**moved("alert.firing", now())).model_dump(mode="json")
    ended = notice(**moved("alert.resolved", now(), metric="recall")).model_dump(mode="json")
    handler.deliver(effect(**moved("alert.firing", now())))

    alertmanager.known.clear()
    handler.keep([open_one, ended])

    assert alertmanager.open_at(now()) == [LABELS]
    assert [len(alerts) for _, alerts in alertmanager.posts] == [1, 2]


@pytest.mark.parametrize(
    ("event", "changes", "name", "lasts"),
    [
        ("test", {}, "PrMonitorTest", timedelta(minutes=5)),
        ("round.abandoned", {}, "PrMonitorNoEstimate", timedelta(days=1)),
        ("round.attention", {}, "PrMonitorAttention", timedelta(days=1)),
        ("delivery.dead", {"sink": "ops"}, "PrMonitorDelivery", timedelta(days=7)),
        ("delivery.recovered", {"sink": "ops"}, "PrMonitorDelivery", timedelta(0)),
    ],
)
def test_other_notices_are_alerts_that_end_by_themselves_or_with_what_they_tell(
    event, changes, name, lasts
):
    at = now() - 2 * HOUR
    found = as_alert(notice(event=event, metric=None, at=at, **changes), settings(), now())

    ends = datetime.fromisoformat(found["endsAt"])
    told = at if event == "delivery.recovered" else now() + lasts
    assert abs(ends - told) < timedelta(minutes=1)
    where = {"hook": "ops"} if "sink" in changes else {"monitor": "mail-travel"}
    assert found["labels"] == {"alertname": name, **where}


def test_the_link_is_where_the_alert_comes_from():
    found = as_alert(notice(link="http://mlflow.example/#/x"), settings(), now())

    assert found["generatorURL"] == found["annotations"]["link"] == "http://mlflow.example/#/x"
    assert "generatorURL" not in as_alert(notice(), settings(), now())


def test_no_text_brings_lines_or_signs_that_do_not_show():
    found = as_alert(notice(sentence="a\n\x1b[31m\u202eb", metric="re\ncall"), settings(), now())

    assert found["annotations"]["summary"] == r"a \x1b[31m\u202eb"
    assert found["labels"]["metric"] == "re call"


def test_what_it_refuses_is_told_with_its_reason():
    with (
        Receiver(400, answer='{"message": "no\\nsuch"}') as receiver,
        pytest.raises(DeliveryFailed) as failure,
    ):
        handler_for(receiver.root).deliver(effect(event="test"))

    ((path, _, _),) = receiver.got
    assert path == "/api/v2/alerts"
    assert str(failure.value) == (
        f"hook am: {receiver.root} did not take the notice: it answered 400: "
        r'{"message": "no\nsuch"}'
    )
    assert failure.value.lasting


@pytest.mark.parametrize("end", ["/", "/api/v2/alerts"])
def test_the_address_may_be_written_with_the_path_of_the_api_and_a_proxy_gets_its_authorization(
    alertmanager, end
):
    handler = handler_for(alertmanager.url + end, authorization="Bearer t0ken")

    handler.deliver(effect(event="test"))

    [(headers, _)] = alertmanager.posts
    assert headers["authorization"] == "Bearer t0ken"
    assert "t0ken" not in repr(handler._settings)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"url": "http://am:9093", "allow_private": False}, "plain http"),
        ({"url": "http://am:9093/?a=b"}, r"it contains \? or #"),
        ({"url": "am:9093"}, "must start with https"),
        ({"labels": {"monitor": "x"}}, "monitor is set by the monitor itself"),
        ({"labels": {"a-b": "x"}}, "no name of a label"),
        ({"authorization": "Bearer a\r\nx: y"}, "must be one line"),
        ({"hold": "5m"}, "greater than or equal"),
    ],
)
def test_settings_that_cannot_work_are_refused(wrong, reason):
    with pytest.raises(ValidationError, match=reason):
        settings(**wrong)


def test_the_real_one_opens_forgets_is_told_again_and_ends(tmp_path):
    with Receiver(200) as pager, real_alertmanager(tmp_path, f"{pager.root}/page") as real:

        def pages():
            return [json.loads(body)["status"] for _, _, body in pager.got]

        handler = AlertmanagerHandler(settings(real.url, labels={"team": "ml"}), HookContext("am"))
        link = {"link": "http://mlflow.example/#/experiments/3/runs?searchFilter=tags.%60a%60"}
        firing = moved("alert.firing", now() - HOUR, **link)

        assert handler.deliver(effect(**firing)) == "HTTP 200"
        eventually(lambda: real.open() == [LABELS | {"team": "ml"}])
        eventually(lambda: pages() == ["firing"])

        real.restart()
        assert real.open() == []
        handler.keep([notice(**firing).model_dump(mode="json")])
        eventually(lambda: len(real.open()) == 1)

        handler.deliver(effect(**moved("alert.resolved", now())))
        eventually(lambda: real.open() == [])
        eventually(lambda: pages()[-1] == "resolved")
