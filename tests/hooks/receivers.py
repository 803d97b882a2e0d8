"""Receivers on loopback, and the notice that they get."""

import time
from datetime import UTC, datetime

from monitor.domain.model import Effect, EffectKind
from monitor.domain.notice import Notice
from tests.servers import LocalServer, QuietHandler

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


class Receiver(LocalServer):
    """Keeps what it gets and gives the answers it is told to, the last one again and again."""

    def __init__(self, *statuses, location=None, wait=0.0, answer="", retry_after=None):
        self.got = got = []
        left = list(statuses or [204])
        named = {"Retry-After": retry_after, "location": location}
        headers = [(name, value) for name, value in named.items() if value]

        class Handler(QuietHandler):
            def respond(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                got.append((self.path, dict(self.headers.items()), body))
                time.sleep(wait)
                status = left.pop(0) if len(left) > 1 else left[0]
                self.answer(status, answer.encode(), headers)

        super().__init__(Handler)
        self.url = f"{self.root}/hook/{TOKEN}?q=1"
