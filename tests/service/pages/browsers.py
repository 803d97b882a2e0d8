"""A real Chromium without a window, on a page that a process of its own serves."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if os.environ.get("CI") != "true":
    pytest.importorskip("selenium", reason="selenium is not installed (requirements/dev.lock)")

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.servers import cannot_start, free_port
from tests.workers import worker

if TYPE_CHECKING:
    from pathlib import Path

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1000,760",
)
DOWN, ENTER, ESCAPE, TAB = Keys.ARROW_DOWN, Keys.ENTER, Keys.ESCAPE, Keys.TAB
PATIENCE = 60.0  # seconds; a busy machine is slow, and nobody waits where nothing is wrong

LABEL = """
from monitor.cli import main

sys.argv = ["pr-monitor", "label", "--no-browser", "--as", "ada", *sys.argv[1:]]
main()
"""


def program(name):
    found = shutil.which(name)
    if found is None:
        cannot_start(f"{name} is not installed (Debian: apt install chromium chromium-driver)")
    return found


@contextmanager
def chromium():
    """A browser with a profile of its own."""
    options = Options()
    options.binary_location = program("chromium")
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        options.add_argument(f"--user-data-dir={profile}")
        driver = webdriver.Chrome(options=options, service=Service(program("chromedriver")))
        try:
            yield Browser(driver)
        finally:
            driver.quit()


@contextmanager
def listening():
    """An address elsewhere, and what whoever came there said."""
    callers: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                callers.append(connection.recv(200).decode(errors="replace"))
                connection.close()

        threading.Thread(target=take, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/out", callers
        server.shutdown(socket.SHUT_RDWR)


@dataclass
class Browser:
    """What a person does in it, and what they see."""

    driver: Any
    _fetched: int = -1

    def enter(self, link, name="ada"):
        self.driver.get(link)
        field = self.find("#name")
        field.clear()
        field.send_keys(name)
        self.find("button").click()
        self.until(lambda: self.has("#answers"))
        return self

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def in_view(self, selector):
        """Scroll to an element, so that nothing covers it, and return it."""
        found = self.find(selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
        return found

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def has(self, selector):
        return bool(self.all(selector))

    def press(self, key):
        self.driver.switch_to.active_element.send_keys(key)

    def text(self, selector="body"):
        return self.find(selector).text

    @property
    def task(self):
        """The task on the screen; None where nothing is left."""
        if not self.has("#answers"):
            return None
        return self.find("#answers [name=task]").get_attribute("value")

    def answer(self, key):
        """Press a key and wait for another item; returns the task that was answered."""
        before = self.task
        self.press(key)
        self.until(lambda: self.task != before)
        return before

    def is_ready(self):
        """Whether the script of the page has what it needs."""
        return self.has("#keys:not([hidden])")

    def is_sent(self):
        """Whether nothing that was said waits to be sent."""
        script = "return Object.values(sessionStorage).every((kept) => kept === '[]')"
        return bool(self.driver.execute_script(script))

    def has_fetched(self):
        """Whether everything is sent and the next items are there."""
        before = self._fetched
        self._fetched = self.driver.execute_script(
            "return performance.getEntriesByType('resource')"
            ".filter((one) => one.name.endsWith('/next')).length"
        )
        time.sleep(0.2)
        return self.is_sent() and self._fetched == before

    def until(self, holds):
        deadline = time.monotonic() + PATIENCE
        while True:
            with suppress(StaleElementReferenceException, WebDriverException):
                if holds():
                    return
            assert time.monotonic() < deadline, self.driver.page_source
            time.sleep(0.02)

    def requests(self):
        """Addresses that the browser asked for since the last call."""
        entries = (json.loads(row["message"])["message"] for row in self.log("performance"))
        return [
            entry["params"]["request"]["url"]
            for entry in entries
            if entry["method"] == "Network.requestWillBeSent"
        ]

    def log(self, name="browser"):
        return self.driver.get_log(name)


@dataclass
class LabelCommand:
    """`pr-monitor label` in a folder, which a test may kill and start again."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: Any = None

    @contextmanager
    def running(self):
        with worker(LABEL, "--port", self.port, cwd=self.folder) as self.process:
            line = self.process.said.readline()
            assert "http://" in line, line + self.process.errors.read()
            yield line.split()[-1]
