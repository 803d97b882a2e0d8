"""An HTTP proxy on loopback before a real server: it loses, spoils, delays what it is told to."""

import math
import re
import socket
import struct
import threading
import time
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

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
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def up(self):
        """Open the port, the same one every time."""
        self._server = _Server(("127.0.0.1", self._port), _Handler)
        self._server.proxy = self
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

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


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64
    proxy: FaultProxy

    def handle_error(self, *_):
        """Say nothing of clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm = True  # else each answer waits for an acknowledgement

    def pass_on(self):
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
            self.answer(503, {}, b"{}")
        else:
            self.answer(429, {"retry-after": str(RETRY_AFTER)}, b"{}")

    def spoil(self, kind, status, headers, content):
        if kind == "broken":
            self.answer(500, {}, b"{}")
        elif kind == "dropped":
            self.hang_up()
        elif kind == "truncated":
            self.answer(status, headers, content, promised=2 * len(content) + 10)
            self.hang_up()
        elif kind == "emptied":
            self.answer(200, {}, b"")
        else:
            if kind == "slow":
                time.sleep(self.server.proxy.slowness)
            self.answer(status, headers, content)

    def ask(self, body):
        headers = {k: v for k, v in self.headers.items() if k.lower() in _PASSED_ON}
        ours = {k: v for k, v in self.headers.items() if k.lower().startswith("webhook-")}
        upstream = HTTPConnection(self.server.proxy.target, timeout=60)
        try:
            upstream.request(self.command, self.path, body or None, headers | ours)
            answer = upstream.getresponse()
            kept = {k: v for k, v in answer.headers.items() if k.lower() == "content-type"}
            return answer.status, kept, answer.read()
        finally:
            upstream.close()

    def answer(self, status, headers, content, promised=None):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("content-length", str(promised or len(content)))
        self.end_headers()
        self.wfile.write(content)

    def hang_up(self):
        self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on  # noqa: N815

    def log_message(self, *_):
        pass
