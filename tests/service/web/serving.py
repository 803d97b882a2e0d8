"""The service as its watchers and its administrator meet it."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from monitor.storage.database import Database
from tests.small_config import rows
from tests.workers import worker

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = """
from monitor.cli import main

sys.argv = ["pr-monitor", "serve", *sys.argv[1:]]
main()
"""
OFTEN = """
from datetime import timedelta
from pathlib import Path

from monitor.api import opened
from monitor.cli.logs import set_up_logs
from monitor.service.loop import serve

{patch}
with opened(Path("config.yaml"), delivers=True) as application:
    set_up_logs(service=True)
    often = timedelta(seconds=0.2)
    serve(application, path=Path("config.yaml"), tick=often, grace=timedelta(seconds={grace}))
"""


def samples(text):
    """Every value of an exposition, by name and labels."""
    return {
        (one.name, *sorted(one.labels.items())): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def change(path, before, after):
    """Put another text into a config."""
    text = path.read_text()
    assert text.count(before) == 1, before
    path.write_text(text.replace(before, after))


@dataclass
class Place:
    """A folder with a config, and where its service listens."""

    folder: Path
    port: int
    process: Any = None
    logged: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.store = Database(f"sqlite:///{self.folder}/monitor.db")

    @property
    def web(self):
        return f"web: {{listen: 127.0.0.1:{self.port}}}\n"

    @contextmanager
    def serving(self, program=COMMAND, *arguments):
        """Let a service run until the block ends or it was asked to stop."""
        with worker(program, *arguments, cwd=self.folder) as self.process:
            self.until("serving")
            yield self.process

    def until(self, word):
        """Read the log up to a line with this word, and return that line."""
        for line in self.process.errors:
            self.logged.append(line.rstrip())
            if word in line:
                return line.rstrip()
        raise AssertionError(self.logged)

    def get(self, path):
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", timeout=30, trust_env=False)

    def rows(self, query):
        return rows(self.store, query)

    def metrics(self):
        return samples(self.get("/metrics").text)

    def eventually(self, holds):
        """Wait for what the service will do; fails after a time nobody needs."""
        deadline = time.monotonic() + 60
        while not holds():
            assert self.process.process.poll() is None, self.process.errors.read()
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def change(self, before, after):
        change(self.folder / "config.yaml", before, after)

    def reload(self, word="config "):
        """Ask for the config to be read again; returns the first line that tells of it."""
        self.process.process.send_signal(signal.SIGHUP)
        return self.until(word)

    def stop(self):
        """Ask the service to stop; returns its exit code."""
        self.process.process.send_signal(signal.SIGTERM)
        code, _, errors = self.process.end()
        self.logged += errors.splitlines()
        return code
