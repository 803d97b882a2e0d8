"""An HTTP proxy on loopback before a real server: it loses, spoils, delays what it is told to."""

import math
import re
import socket
import struct
import threading
import time
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from tests.servers import LocalServer, QuietHandler

BEFORE = ("refused", "unavailable", "limited")
"""Faults instead of the work: the connection is reset, the answer is 503, or 429."""

AFTER = ("broken", "dropped", "slow", "truncated", "emptied")
"""Faults after the work: 500, no answer, one that comes too late, half of one, 200 with nothing."""

LATE = ("late",)
"""The work is done, but only when the client has given up."""

FAULTS = (*BEFORE, *AFTER, *LATE)
RETRY_AFTER = 600  # seconds asked for with 429
FOR_EVER = math.inf

_PASSED_ON = ("content-type", "accept", "authorization", "accept-encoding")
_IDS = re.compile(r"/(\d+|[0-9a-f]{32})(?=/|$)")
_NO_LINGER = struct.pack("ii", 1, 0)


@dataclass
class Fault:
    """One kind of fault, for the next ``left`` requests whose call holds ``part``."""

    kind: str
    part: str
    left: float


class FaultProxy:
    """Passes requests on to ``target``; a call is ``METHOD /path`` with ``*`` for ids.

    ``seen`` and ``faulted`` are all calls and those that met a fault.
    """

    def __init__(self, target, *, slowness=1.5):
        self.target = urlsplit(target).netloc
        self.slowness = slowness
        self.chance = None
        self.faults: list[Fault] = []
        self.seen: list[str] = []
        self.faulted: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        self._busy = 0
        self._idle = threading.Condition()
        self._port = 0
        self.up()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._port}"

    def fault(self, kind, part="", times=1):
        assert kind in FAULTS
        self.faults.append(Fault(kind, part, times))

    def at_random(self, share, kinds, rng):
        """Let a share of all requests meet one of these faults."""
        self.chance = (share, kinds, rng)

    def mend(self):
        """Let everything pass from now on."""
        self.faults.clear()
        self.chance = None

    def down(self):
        """Close the port: connections are refused."""
        self._server.__exit__()

    def up(self):
        """Open the port, the same one every time."""
        self._server = _Server(_Handler, self._port)
        self._server.proxy = self
        self._port = self._server.server_address[1]
        self._server.__enter__()

    def settle(self):
        """Wait until no request is on its way, as after the minute before the next try."""
        with self._idle:
            assert self._idle.wait_for(lambda: self._busy == 0, 60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.down()

    def _take(self, call):
        with self._lock:
            self.seen.append(call)
            kind = self._kind_for(call)
            if kind:
                self.faulted.append((kind, call))
            return kind

    def _kind_for(self, call):
        for fault in self.faults:
            if fault.left > 0 and fault.part in call:
                fault.left -= 1
                return fault.kind
        if self.chance and self.chance[2].random() < self.chance[0]:
            return self.chance[2].choice(self.chance[1])
        return None

    def _count(self, change):
        with self._idle:
            self._busy += change
            self._idle.notify_all()


class _Server(LocalServer):
    request_queue_size = 64
    proxy: FaultProxy


class _Handler(QuietHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm = True  # else each answer waits for an acknowledgement

    def respond(self):
        self.server.proxy._count(1)
        try:
            self.act(self.server.proxy._take(self.call()))
        finally:
            self.server.proxy._count(-1)

    def call(self):
        return f"{self.command} {_IDS.sub('/*', urlsplit(self.path).path)}"

    def act(self, kind):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if kind in BEFORE:
            self.refuse(kind)
            return
        if kind == "late":
            time.sleep(self.server.proxy.slowness)
        try:
            status, headers, content = self.ask(body)
        except (OSError, HTTPException):  # the server is gone
            self.hang_up()
            return
        self.spoil(kind, status, headers, content)

    def refuse(self, kind):
        if kind == "refused":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            self.hang_up()
        elif kind == "unavailable":
            self.answer(503, b"{}")
        else:
            self.answer(429, b"{}", [("retry-after", str(RETRY_AFTER))])

    def spoil(self, kind, status, headers, content):
        if kind == "broken":
            self.answer(500, b"{}")
        elif kind == "dropped":
            self.hang_up()
        elif kind == "truncated":
            self.answer(status, content, headers, size=2 * len(content) + 10)
            self.hang_up()
        elif kind == "emptied":
            self.answer(200)
        else:
            if kind == "slow":
                time.sleep(self.server.proxy.slowness)
            self.answer(status, content, headers)

    def ask(self, body):
        headers = {k: v for k, v in self.headers.items() if k.lower() in _PASSED_ON}
        ours = {k: v for k, v in self.headers.items() if k.lower().startswith("webhook-")}
        upstream = HTTPConnection(self.server.proxy.target, timeout=60)
        try:
            upstream.request(self.command, self.path, body or None, headers | ours)
            answer = upstream.getresponse()
            kept = [(k, v) for k, v in answer.headers.items() if k.lower() == "content-type"]
            return answer.status, kept, answer.read()
        finally:
            upstream.close()

    def hang_up(self):
        self.close_connection = True

    do_PUT = do_PATCH = do_DELETE = QuietHandler.do_POST  # noqa: N815
