"""What a receiver on loopback gets, and what is refused before anything is sent."""

import base64
import json
import logging
import socket
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError
from standardwebhooks import Webhook

from monitor.domain.errors import DeliveryFailed
from monitor.domain.notice import Notice
from monitor.hooks import posting
from monitor.hooks.context import HookContext
from monitor.hooks.log import LogHandler, LogSettings
from monitor.hooks.webhook import WebhookHandler, WebhookSettings
from tests.hooks.receivers import TOKEN, Receiver, effect, notice

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()

pytestmark = pytest.mark.server


def handler_for(url, **changes):
    settings = {"url": url, "secret": SECRET, "allow_private": True, **changes}
    return WebhookHandler(WebhookSettings.model_validate(settings), HookContext("ops"))


def failure_of(*statuses, **answers):
    """How a delivery fails to a receiver that answers so."""
    with Receiver(*statuses, **answers) as receiver, pytest.raises(DeliveryFailed) as failure:
        handler_for(receiver.url).deliver(effect())
    return failure.value


def test_the_receiver_can_verify_what_it_gets():
    with Receiver() as receiver:
        receipt = handler_for(receiver.url).deliver(effect())

    ((path, headers, body),) = receiver.got
    content = Webhook(SECRET).verify(body, headers)
    assert receipt == "HTTP 204"
    assert path == f"/hook/{TOKEN}?q=1"
    assert headers["content-type"] == "application/json"
    assert content["type"] == "alert.firing"
    assert Notice.model_validate(content["data"]) == notice()


def test_a_notice_sent_again_carries_its_id_and_body_its_link_and_the_time_of_sending():
    times = [datetime(2031, 5, 6, 7, 8, second, tzinfo=UTC) for second in (9, 10)]
    left = list(times)

    with Receiver(503, 200) as receiver:
        given = {"url": receiver.url, "secret": SECRET, "allow_private": True}
        context = HookContext(
            "ops", clock=lambda: left.pop(0), link=lambda notice: f"http://{notice.round}"
        )
        handler = WebhookHandler(WebhookSettings.model_validate(given), context)
        with pytest.raises(DeliveryFailed):
            handler.deliver(effect())
        handler.deliver(effect())

    (_, first, body), (_, again, body_again) = receiver.got
    assert first["webhook-id"] == again["webhook-id"] == "a1.firing.12"
    assert body == body_again
    assert json.loads(body)["data"]["link"] == "http://12"
    assert [int(headers["webhook-timestamp"]) for headers in (first, again)] == [
        at.timestamp() for at in times
    ]


@pytest.mark.parametrize(
    ("status", "down"),
    [
        *((status, False) for status in (302, 400, 410)),
        *((status, True) for status in (408, 425, 429, 500)),
    ],
)
def test_any_answer_but_success_keeps_the_notice_and_says_whether_it_may_pass(status, down):
    failure = failure_of(status, retry_after="120")

    assert str(status) in str(failure)
    assert (failure.sink_down, failure.lasting) == (down, not down)
    assert failure.retry_after == (timedelta(seconds=120) if down else None)


PAGE = "\n<!-- gate -->\n<!DOCTYPE HTML><html><body>Sign in to continue</body></html>"
TEAMS = "Webhook message delivery failed with error: endpoint returned HTTP error 429"


@pytest.mark.parametrize(
    ("answer", "said", "down"),
    [
        (PAGE, "it answered 200 with a web page", True),
        ('{"ok":false,"error":"canary"}', 'it answered 200, but said "ok": false', False),
        ('{"success": false}', 'but said "success": false', False),
        ('{"errcode":310000,"errmsg":"canary"}', 'but said "errcode": 310000', False),
        ('{"ok": "false"}', 'but said "ok": false', False),
        ('{"code":9499,"msg":"canary"}', 'but said "code": 9499', False),
        ('{"status":"Error","message":"canary"}', 'but said "status": "error"', False),
        ('{"data":null,"errors":[{"message":"canary"}]}', 'but said "errors"', False),
        ('{"errorMessage":"canary"}', 'but said "errorMessage"', False),
        ('{"error":{"text":"canary"}}', 'but said "error"', False),
        (TEAMS, "but said webhook message delivery failed, HTTP error 429", False),
    ],
)
def test_a_success_whose_text_says_the_contrary_keeps_the_notice(answer, said, down):
    failure = failure_of(200, answer=answer)

    assert said in str(failure)
    assert "canary" not in str(failure)
    assert (failure.sink_down, failure.lasting) == (down, False)


def test_any_other_text_of_a_success_is_success():
    answers = [*("", "1", "OK <b>thanks</b>", "[]", '{"ok": true}', '{"errcode": 0}')]
    answers += ['{"code": 200}', '{"code": 0, "msg": "success"}', '{"status": "success"}']
    answers += ['{"code": 601, "message": ""}', '{"error": null}', '{"errors": []}']

    for answer in [*answers, '{"ok": true, "error": "deprecated"}']:
        with Receiver(200, answer=answer) as receiver:
            assert handler_for(receiver.url).deliver(effect()) == "HTTP 200"


def test_a_receiver_that_answers_byte_by_byte_is_left_in_time():
    def drip(server):
        peer, _ = server.accept()
        with peer, suppress(OSError):
            for byte in b"HTTP/1.1 204 No Content\r\n" * 10:
                peer.send(bytes([byte]))
                time.sleep(0.1)

    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        with pytest.raises(DeliveryFailed, match="did not answer within 1 s") as failure:
            handler_for(url, timeout="1s").deliver(effect())
        thread.join()

    assert failure.value.sink_down


def test_nobody_there_is_said_in_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with pytest.raises(DeliveryFailed, match=r"hook ops: http://127\.0\.0\.1:\d+ did not take"):
        handler_for(f"http://127.0.0.1:{port}/").deliver(effect())


def test_neither_secret_nor_path_shows_anywhere(caplog, capfd):
    caplog.set_level(logging.DEBUG)
    texts = []

    with Receiver(401, 302, 500, 200) as receiver:
        handler = handler_for(receiver.url)
        texts.append(repr(handler._settings))
        for _ in range(3):
            with pytest.raises(DeliveryFailed) as failure:
                handler.deliver(effect())
            texts.append(str(failure.value))
        handler.deliver(effect())

    here = threading.get_ident()  # another test's hook may still end in a thread of its own
    logged = [record.getMessage() for record in caplog.records if record.thread == here]
    shown = " ".join([*texts, *logged, *capfd.readouterr()])
    assert logged
    assert "127.0.0.1" in shown
    for secret in (TOKEN, SECRET, SECRET.removeprefix("whsec_")):
        assert secret not in shown


@pytest.mark.parametrize(
    ("setting", "value", "reason"),
    [
        ("url", f"http://hooks.example.com/{TOKEN}", "plain http"),
        ("url", f"ftp://hooks.example.com/{TOKEN}", "must start with https"),
        ("url", f"https:///{TOKEN}", "names no host"),
        ("url", f"https://user:{TOKEN}@hooks.example.com/", "contains a user or password"),
        ("url", f"https://hooks.example.com:port/{TOKEN}", "not a URL"),
        ("url", f"https://hooks.example.com/{TOKEN}\r\nx: y", "must be percent-encoded"),
        ("secret", "2weak", "5 bytes are too few"),
        ("secret", "whsec_c2hvcnQ=", "too few"),
        ("secret", "whsec_%%", "not base64"),
    ],
)
def test_a_url_or_secret_that_cannot_be_used_is_refused_without_being_shown(setting, value, reason):
    settings = {"url": "https://hooks.example.com/", "secret": SECRET}

    with pytest.raises(ValidationError, match=reason) as refusal:
        WebhookSettings.model_validate({**settings, setting: value})

    assert (TOKEN if setting == "url" else value) not in str(refusal.value)


def test_a_long_answer_takes_time_in_proportion_to_its_length():
    response: Any = SimpleNamespace(iter_stream=lambda: iter([bytes(4096)] * 2500))
    began = time.process_time()
    text = posting._beginning(response, 100_000_000, whole=True)

    assert len(text) == 2500 * 4096
    assert time.process_time() - began < 1, "each piece copied all before it: 4 seconds"


def test_the_log_line_holds_the_sentence_and_the_keys(capfd):
    receipt = LogHandler(LogSettings(), HookContext("log")).deliver(effect())
    LogHandler(LogSettings(), HookContext("log")).deliver(effect(event="alert.resolved"))

    out, err = capfd.readouterr()
    firing, resolved = err.splitlines()
    assert (out, receipt) == ("", "a1.firing.12")
    assert "level=warning" in firing
    assert 'event="Precision is 0.71' in firing
    assert "notice=alert.firing" in firing
    assert "monitor=mail-travel" in firing
    assert json.dumps(notice().round) in firing
    assert "level=info" in resolved
