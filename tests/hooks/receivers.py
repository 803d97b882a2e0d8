"""Receivers on loopback, and the notice that they get."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from monitor.domain.model import Effect, EffectKind
from monitor.domain.notice import Notice

TOKEN = "T0KEN-in-the-path"  # noqa: S105  made up


def notice(**changes):
    values = {
        "id": "a1.firing.12",
        "event": "alert.firing",
        "store_id": "5f0c9a2e",
        "round_key": "5f0c9a2e/mail-travel/1/2025-03-10T06:00:00Z",
        "monitor": "mail-travel",
        "round": 12,
        "slot": datetime(2025, 3, 10, 6, tzinfo=UTC),
        "metric": "precision",
        "point": 0.71,
        "sentence": "Precision is 0.71 [0.66, 0.76], below the limit 0.80 – naïve.",  # noqa: RUF001
    }
    return Notice.model_validate({**values, **changes})


def effect(**changes):
    content = notice(**changes).model_dump(mode="json")
    return Effect(1, "notice/1", EffectKind.NOTICE, "ops", "mail-travel", content, 1)


class Receiver(ThreadingHTTPServer):
    """Keeps what it gets and gives the answers it is told to, the last one again and again."""

    daemon_threads = True

    def __init__(self, *statuses, location=None, wait=0.0, answer="", retry_after=None):
        self.got = got = []
        left = list(statuses or [204])

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                got.append((self.path, dict(self.headers.items()), body))
                time.sleep(wait)
                self.send_response(left.pop(0) if len(left) > 1 else left[0])
                if retry_after:
                    self.send_header("Retry-After", retry_after)
                if location:
                    self.send_header("location", location)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer.encode())

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server_address[1]}"
        self.url = f"{self.root}/hook/{TOKEN}?q=1"

    def handle_error(self, *_):
        """Say nothing of clients that went away."""

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
