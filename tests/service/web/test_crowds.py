"""Who connects and asks nothing, asks too much, or asks under another name, stops no watcher."""

import socket
import threading
import time
from contextlib import ExitStack

import httpx
import pytest

from monitor.config.pages import Address
from monitor.service.web import server as server_module
from monitor.service.web.app import AT_ONCE, watchers_app
from monitor.service.web.server import WebServer
from tests.servers import free_port


class HeldPages:
    """What the pages show; the metrics come when a test lets them."""

    server: WebServer

    def __init__(self):
        self.asked = threading.Semaphore(0)
        self.come = threading.Event()

    def metrics(self):
        self.asked.release()
        self.come.wait(30)
        return "metrics\n"


@pytest.fixture
def pages():
    return HeldPages()


@pytest.fixture
def serving(pages):
    """Start the pages, for this machine alone or for all; they are stopped in the end."""
    with ExitStack() as stack:

        def serving(*, remote=False):
            address = Address("127.0.0.1", free_port())
            listen = None if remote else address.host
            app = watchers_app(lambda: None, lambda: None, pages.metrics, listen=listen)
            pages.server = WebServer(app, address)
            pages.server.start()
            stack.callback(pages.server.stop)
            stack.callback(pages.come.set)
            return address

        yield serving


def idle(stack, address, count, said=b""):
    """Connect so many times and ask nothing."""
    for _ in range(count):
        connection = stack.enter_context(socket.create_connection(address, 10))
        connection.sendall(said)
    return connection


def dribble(connection):
    """Send a request letter by letter, for ten seconds."""
    for _ in range(100):
        connection.sendall(b"X")
        time.sleep(0.1)


def status(address, path="/health", **headers):
    answer = httpx.get(f"http://{address}{path}", headers=headers, trust_env=False, timeout=20)
    return answer.status_code


HALF = b"GET /health HTTP/1.1\r\n"


def test_idle_connections_do_not_make_a_service_look_dead(serving):
    address = serving()

    with ExitStack() as stack:
        idle(stack, address, 50)
        idle(stack, address, 50, HALF)
        codes = [status(address) for _ in range(3)]

    assert codes == [200] * 3


@pytest.mark.parametrize("said", [b"", HALF])
def test_a_connection_that_asks_nothing_is_closed(serving, monkeypatch, said):
    monkeypatch.setattr(server_module, "REQUEST_SECONDS", 0.3)
    address = serving()

    with ExitStack() as stack:
        connection = idle(stack, address, 1, said)
        connection.settimeout(30)

        assert connection.recv(1000) == b""


def test_who_dribbles_a_second_request_is_closed_too(serving, monkeypatch):
    monkeypatch.setattr(server_module, "REQUEST_SECONDS", 0.6)
    address = serving()
    whole = f"GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n".encode()

    with ExitStack() as stack:
        connection = idle(stack, address, 1, whole)
        connection.settimeout(30)
        answered = connection.recv(10_000)
        with pytest.raises(OSError, match=r"reset|Broken pipe"):
            dribble(connection)

    assert answered.startswith(b"HTTP/1.1 200")


def test_health_is_answered_while_the_other_pages_are_crowded(serving, pages):
    address = serving()
    codes = []
    askers = [
        threading.Thread(target=lambda: codes.append(status(address, "/metrics")))
        for _ in range(AT_ONCE + 3)
    ]

    for asker in askers:
        asker.start()
    for _ in range(AT_ONCE):
        pages.asked.acquire(timeout=20)
    while len(codes) < 3:
        time.sleep(0.01)
    health = status(address)
    pages.come.set()
    for asker in askers:
        asker.join()

    assert health == 200
    assert sorted(codes) == [200] * AT_ONCE + [503] * 3


def test_pages_are_for_names_of_this_machine(serving, pages):
    pages.come.set()
    address = serving()
    strangers = ["rebound.example.org", "rebound.example.org:8080", "127.0.0.1.example.org"]
    codes = dict.fromkeys([*strangers, "192.0.2.1", "["], 421)
    codes |= dict.fromkeys(["127.0.0.1:99", "LOCALHOST", "[::1]:8080"], 200)

    for path in ("/health", "/ready", "/metrics"):
        assert {host: status(address, path, host=host) for host in codes} == codes


def test_where_others_may_ask_they_may_use_any_name(serving, pages):
    pages.come.set()

    assert status(serving(remote=True), "/metrics", host="monitor.example.org") == 200


def test_a_request_without_a_host_is_of_no_browser(serving):
    with ExitStack() as stack:
        connection = idle(stack, serving(), 1, b"GET /health HTTP/1.0\r\n\r\n")

        assert connection.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_request_that_a_stop_cuts_off_is_answered_as_for_later(serving, pages, monkeypatch):
    """uvicorn says 500 to what still waits for the store some seconds after the stop."""
    monkeypatch.setattr(server_module, "_STOP", 1)
    address = serving()
    answers: list[int] = []
    asking = threading.Thread(target=lambda: answers.append(status(address, "/metrics")))
    asking.start()
    assert pages.asked.acquire(timeout=30)
    threading.Timer(3, pages.come.set).start()

    pages.server.stop()
    asking.join(30)

    assert answers == [503]


TWO_LENGTHS = b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
SECOND = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        (TWO_LENGTHS + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400]),
        (TWO_LENGTHS + b"transfer-encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", [400]),
        (TWO_LENGTHS + b"\r\nhello", [200, 200]),
        (
            TWO_LENGTHS.replace(b"Content-Length: 5", b"Transfer-Encoding: chunked")
            + b"\r\n0\r\n\r\n",
            [200, 200],
        ),
    ],
)
def test_a_request_with_two_lengths_is_refused_and_its_connection_closed(serving, sent, statuses):
    address = serving()
    answer = b""

    with socket.create_connection(address, 20) as connection:
        connection.sendall(sent + SECOND)
        while answer.count(b"HTTP/1.1 ") < 2 and (received := connection.recv(65_536)):
            answer += received

    assert [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]] == statuses
