"""From the key that gives an answer to the painted next item, in a real browser.

Milliseconds over the answers of one person on the labeling page. Needs Chromium, its driver and
selenium.
"""

# mypy: allow-untyped-calls
# (what the tests have for servers, people and browsers is not typed)

import logging
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import structlog

from monitor.config.pages import PagesSettings
from monitor.domain.sample_settings import Bands, Sample
from monitor.labeling.page import PageLabeler
from monitor.labeling.page_settings import PageSettings
from monitor.service.pages.serving import PagesServer
from monitor.service.pages.status.addresses import Board
from monitor.storage import schema
from monitor.storage.database import Database
from tests.rounds.scene import Scene, settings
from tests.servers import free_port
from tests.service.pages.browsers import Browser, chromium

# A frame begins with what was asked for by requestAnimationFrame; what is posted from there runs
# once the frame is painted.
WATCH = """
const shown = () => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const item = texts.currentNode.data.match(/^item \\d+ /);
    if (item && texts.currentNode.parentElement.checkVisibility()) return item[0];
  }
  return null;
};
window.took = [];
addEventListener("keydown", (event) => {
  const before = shown();
  const look = () => {
    const now = shown();
    if (now === null || now === before) { requestAnimationFrame(look); return; }
    const channel = new MessageChannel();
    channel.port1.onmessage = () => window.took.push(performance.now() - event.timeStamp);
    channel.port2.postMessage(null);
  };
  requestAnimationFrame(look);
}, { capture: true });
"""
PAUSE = 0.25
"""Seconds that somebody looks at an item at least."""
PATIENCE = 60
"""Seconds after which an item that does not come is an error."""
TARGETS = (20.0, 50.0)


def main(items: int = 200, characters: int = 2000) -> None:
    """Label so many mails of so many characters, and print the table."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    print(f"texts of {characters:,} characters; target of the labeling page:")
    print(f"median {TARGETS[0]:.0f} ms, 95th percentile {TARGETS[1]:.0f} ms\n")
    took = our_page(items, characters)
    figures = median(took), quantiles(took, n=20, method="inclusive")[-1], max(took)
    print("| answers | median | 95th percentile | longest |\n|---|---|---|---|")
    print(f"| {len(took)} | {' | '.join(f'{ms:,.1f} ms' for ms in figures)} |")


def our_page(items: int, characters: int) -> list[float]:
    """Serve a round on the labeling page, and label it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        database = Database(f"sqlite:///{folder}/monitor.db")
        schema.ready(database)
        scene = _scene(database, Path(folder), items, characters)
        links: list[str] = []
        server = PagesServer(
            lambda: [scene.name],
            Board(database, lambda: datetime.now(UTC), list, lambda *_: None),
            settings=PagesSettings(listen=f"127.0.0.1:{free_port()}"),
            setting="port",
            name="ada",
            notified=lambda link, _: links.append(link),
        )
        server.start()
        try:
            return _labeled(links[0], items)
        finally:
            server.stop()
            database.close()


def _scene(database: Database, folder: Path, items: int, characters: int) -> Any:
    sample = Sample(max_labels=items, bands=Bands(flagged=1, passed=1))
    scene: Any = Scene(database, settings(sample=sample))
    page = PageSettings(question="Is this mail really about travel?")
    scene.labeler = PageLabeler(page, folder, lambda: scene.now, database)
    scene.week(1)
    for number, row in enumerate(scene.source.rows):
        row["text"] = f"item {number} {'lorem ipsum ' * (characters // 12)}"
    scene.run(1)
    return scene


def _labeled(link: str, items: int) -> list[float]:
    with chromium() as browser:
        browser.enter(link).until(browser.is_ready)
        browser.driver.execute_script(WATCH)
        for number in range(items - 1):
            time.sleep(PAUSE)
            browser.press("10"[number % 2])
            _wait(browser, number + 1)
        took: list[float] = browser.driver.execute_script("return window.took")
        return took


def _wait(browser: Browser, answers: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while browser.driver.execute_script("return window.took.length") < answers:
        if time.monotonic() > deadline:
            message = f"no item was shown after answer {answers} within {PATIENCE} s"
            raise TimeoutError(message)
        time.sleep(PAUSE)  # seldom, so that asking does not slow the page
