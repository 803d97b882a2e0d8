"""What Apprise sends to a receiver on loopback, and what it says when it cannot."""

import json
import logging
import sys

import pytest

from monitor.domain.errors import DeliveryFailed
from monitor.hooks.context import HookContext, no_link
from monitor.plugins.hooks.apprise import BREAK, AppriseHandler, AppriseSettings
from tests.hooks.receivers import TOKEN, Receiver, effect
from tests.servers import free_port

pytest.importorskip("apprise")
pytestmark = pytest.mark.server


def handler_for(url, *, link=no_link, **changes):
    settings = {"kind": "apprise", "url": url, **changes}
    return AppriseHandler(AppriseSettings.model_validate(settings), HookContext("chat", link=link))


def json_url(receiver, scheme="json"):
    return receiver.url.replace("http://", f"{scheme}://").partition("?")[0]


def sent(receiver):
    ((path, _, body),) = receiver.got
    assert path == f"/hook/{TOKEN}"
    return json.loads(body)


def test_the_service_gets_what_happened_what_to_do_and_the_link():
    with Receiver() as receiver:
        page = "http://mlflow.example/#/experiments/3"
        handler = handler_for(json_url(receiver), link=lambda _: page)
        receipt = handler.deliver(effect(sentence="Precision fell.", to_do="Look at round 12."))

    found = sent(receiver)
    assert receipt == "JSON"
    assert found["title"] == "ALERT: mail-travel, precision"
    assert found["message"].split("\n\n") == [
        "Precision fell.",
        "What to do: Look at round 12.",
        "In MLflow: http://mlflow.example/#/experiments/3",
    ]


def test_services_colour_a_notice_by_what_it_says():
    kinds = {"alert.firing": "failure", "alert.resolved": "success", "alert.revised": "info"}
    kinds |= dict.fromkeys(("round.abandoned", "round.attention", "delivery.dead"), "warning")
    kinds |= {"delivery.recovered": "success", "test": "info"}

    with Receiver() as receiver:
        for event in kinds:
            handler_for(json_url(receiver)).deliver(effect(event=event))

    assert [json.loads(body)["type"] for *_, body in receiver.got] == list(kinds.values())


def test_what_a_stranger_wrote_calls_nobody_and_begins_no_line():
    with Receiver() as receiver:
        handler_for(json_url(receiver)).deliver(
            effect(sentence="a\n@all <!here> [x](http://y)\x1b")
        )

    text = sent(receiver)["message"]
    assert text.replace(BREAK, "") == "a @all <!here> [x](http://y)\\x1b"
    assert all(call not in text for call in ("@all", "<!here>", "](http"))


def test_html_receivers_get_tags_as_text():
    with Receiver() as receiver:
        url = json_url(receiver) + "?format=html"
        handler_for(url).deliver(effect(sentence="<script>alert(1)</script>"))

    assert "<script" not in sent(receiver)["message"].replace(BREAK, "")


@pytest.mark.parametrize(("status", "down"), [(400, False), (302, False), (429, True), (503, True)])
def test_a_service_that_says_no_is_told_with_its_status_and_without_its_url(
    status, down, caplog, capfd
):
    caplog.set_level(logging.DEBUG)
    with (
        Receiver(status, location="http://127.0.0.1:9/") as receiver,
        pytest.raises(DeliveryFailed) as failure,
    ):
        handler_for(json_url(receiver)).deliver(effect())

    assert str(failure.value) == f"hook chat: JSON did not take the notice: it answered {status}"
    assert (failure.value.sink_down, failure.value.lasting) == (down, not down)
    assert (caplog.text, *capfd.readouterr()) == ("", "", "")
    assert len(receiver.got) == 1


def test_a_service_that_is_not_there_may_come_back():
    with pytest.raises(DeliveryFailed, match="could not be reached") as failure:
        handler_for(f"json://127.0.0.1:{free_port()}/").deliver(effect())

    assert failure.value.sink_down


def test_a_service_that_does_not_answer_is_left_in_time():
    with (
        Receiver(wait=3.0) as receiver,
        pytest.raises(DeliveryFailed, match="did not answer within 1 s"),
    ):
        handler_for(json_url(receiver), timeout="1s").deliver(effect())


def test_a_url_that_apprise_does_not_know_is_refused_without_being_shown():
    handler = handler_for(f"nosuch://{TOKEN}")

    with pytest.raises(DeliveryFailed, match="does not know its url") as failure:
        handler.deliver(effect())

    assert failure.value.lasting
    assert TOKEN not in str(failure.value) + repr(handler._settings)


def test_the_missing_extra_is_said_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "apprise", None)

    with pytest.raises(DeliveryFailed) as failure:
        handler_for("json://127.0.0.1/").usable()

    assert str(failure.value) == (
        "hook chat: Apprise is not installed: pip install 'mlflow-pr-monitor[apprise] @ git+"
        "https://github.com/mlflow-pr-monitor/mlflow-pr-monitor'"
    )
    assert failure.value.lasting
