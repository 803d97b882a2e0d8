"""Alertmanagers: a stand-in that checks what API v2 asks for, and the real one if installed."""

import json
import shutil
import signal
import subprocess
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx

from tests.servers import LocalServer, QuietHandler, cannot_start, free_port
from tests.workers import eventually

KEYS = {"labels", "annotations", "startsAt", "endsAt", "generatorURL"}
CONFIG = """
route: {{receiver: hook, group_wait: 0s, group_interval: 1s, group_by: ['...']}}
receivers:
- {{name: hook, webhook_configs: [{{url: "{url}", send_resolved: true}}]}}
"""


def wrong_with(alerts):
    """What API v2's schema and Alertmanager's own check find wrong with posted alerts."""
    for alert in alerts:
        if set(alert) - KEYS:
            return f"unknown keys {set(alert) - KEYS}"
        if not alert["labels"].get("alertname"):
            return "no alertname"
        texts = [*alert["labels"].values(), *alert.get("annotations", {}).values()]
        if not all(isinstance(text, str) for text in texts) or "" in alert["labels"].values():
            return "a label or annotation is no text"
        start, end = (datetime.fromisoformat(alert[key]) for key in ("startsAt", "endsAt"))
        if start.tzinfo is None or end.tzinfo is None or start > end:
            return "start time must be before end time"
        if "generatorURL" in alert and not urlsplit(alert["generatorURL"]).scheme:
            return "generatorURL in body must be of type uri"
    return None


class StandIn(LocalServer):
    """Takes alerts as Alertmanager 0.25 does, merges those with equal labels, and may forget."""

    def __init__(self):
        self.known: dict[frozenset[tuple[str, str]], dict[str, str]] = {}
        self.posts: list[tuple[dict[str, str], list[dict[str, str]]]] = []
        self.status = 200
        outer = self

        class Handler(QuietHandler):
            def respond(self):
                alerts = json.loads(self.rfile.read(int(self.headers["content-length"])))
                wrong = wrong_with(alerts) or (self.path != "/am/api/v2/alerts" and self.path)
                status = 400 if wrong else outer.status
                if status == 200:
                    outer.take(dict(self.headers.items()), alerts)
                answer = json.dumps({"code": 601, "message": wrong or ""}).encode()
                self.answer(status, answer)

        super().__init__(Handler)
        self.url = f"{self.root}/am"

    def take(self, headers, alerts):
        self.posts.append((headers, alerts))
        for alert in alerts:
            self.known[frozenset(alert["labels"].items())] = alert

    def open_at(self, now):
        """Labels of the alerts that are open."""
        return [
            alert["labels"]
            for alert in self.known.values()
            if datetime.fromisoformat(alert["endsAt"]) > now
        ]


class Real:
    """Alertmanager itself; what it keeps in memory goes with `restart`."""

    def __init__(self, program, folder, receiver):
        self.folder = folder
        config = folder / "alertmanager.yml"
        config.write_text(CONFIG.format(url=receiver))
        self.url = f"http://127.0.0.1:{free_port()}"
        self.command = [
            program,
            f"--config.file={config}",
            f"--storage.path={folder / 'data'}",
            f"--web.listen-address={self.url.removeprefix('http://')}",
            "--cluster.listen-address=",
        ]
        self.start()

    def start(self):
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        eventually(lambda: self.process.poll() is not None or self._ready())
        assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)

    def restart(self):
        self.stop()
        self.start()

    def open(self):
        """Labels of the alerts that are open."""
        answer = httpx.get(f"{self.url}/api/v2/alerts?active=true")
        return [alert["labels"] for alert in answer.json()]

    def _ready(self):
        try:
            return httpx.get(f"{self.url}/-/ready").status_code == 200
        except httpx.TransportError:
            return False


@contextmanager
def real_alertmanager(folder, receiver):
    found = shutil.which("alertmanager") or shutil.which("prometheus-alertmanager")
    if found is None:
        cannot_start("no alertmanager is installed (Debian: apt install prometheus-alertmanager)")
    one = Real(found, folder, receiver)
    try:
        yield one
    finally:
        one.stop()


def now():
    return datetime.now(UTC)
