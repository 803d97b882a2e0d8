"""From a key press to the painted next item on the labeling page, in a real browser.

``python -m benchmarks.labeling_page`` labels a round of 200 mails by keys in Chromium without a
window, and prints the median and the 95th percentile. Needs Chromium, its driver and selenium.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from monitor.config.pages import PagesSettings
from monitor.domain.sample_settings import Bands, Sample
from monitor.labeling.page import PageLabeler
from monitor.labeling.page_settings import PageSettings
from monitor.service.pages.serving import PagesServer
from monitor.service.pages.status.board import Board
from monitor.storage import schema
from monitor.storage.database import Database
from tests.rounds.scene import Scene, settings
from tests.servers import free_port
from tests.service.pages.browsers import chromium

# A frame is asked for after the key was handled; what is posted from it runs once that is painted.
WATCH = """
const done = arguments[0];
window.took = [];
document.addEventListener("keydown", (event) => {
  const pressed = event.timeStamp;
  const before = document.querySelector("#answers [name=task]").value;
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      const shown = document.querySelector("#answers [name=task]").value;
      if (shown !== before) window.took.push(performance.now() - pressed);
    };
    channel.port2.postMessage(null);
  });
}, { capture: true });
done();
"""
TARGETS = (20.0, 50.0)
LOOKS = 0.25
"""Seconds that somebody looks at an item at least."""


def milliseconds(items: int, texts: int) -> list[float]:
    """Label so many items, each with a text of so many characters; time each key press."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        database = Database(f"sqlite:///{folder}/monitor.db")
        schema.ready(database)
        scene = _scene(database, Path(folder), items, texts)
        links: list[str] = []
        server = PagesServer(
            database,
            lambda: datetime.now(UTC),
            lambda: [scene.name],
            Board(database, lambda: datetime.now(UTC), list, lambda *_: None),
            settings=PagesSettings(listen=f"127.0.0.1:{free_port()}"),
            setting="port",
            name="ada",
            told=lambda link, _: links.append(link),
        )
        server.start()
        try:
            return _labeled(links[0], items)
        finally:
            server.stop()
            database.close()


def _scene(database: Database, folder: Path, items: int, texts: int) -> Any:
    sample = Sample(max_labels=items, bands=Bands(flagged=1, passed=1))
    scene: Any = Scene(database, settings(sample=sample))
    page = PageSettings(question="Is this mail really about travel?")
    scene.labeler = PageLabeler(page, folder, lambda: scene.now, database)
    scene.week(1)
    for row in scene.source.rows:
        row["text"] = f"{row['text']} {'lorem ipsum ' * (texts // 12)}"
    scene.run(1)
    return scene


def _labeled(link: str, items: int) -> list[float]:
    with chromium() as browser:
        browser.enter(link).until(browser.is_ready)
        browser.driver.execute_async_script(WATCH)
        for place in range(items - 1):
            browser.press("10"[place % 2])
            time.sleep(LOOKS)
        found: list[float] = browser.driver.execute_script("return window.took")
        return found


def main() -> None:
    """Measure, and print a row of docs/benchmarks.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--characters", type=int, default=2000)
    asked = parser.parse_args()
    took = milliseconds(asked.items, asked.characters)
    high = quantiles(took, n=20)[-1]
    print(f"{len(took)} key presses, texts of {asked.characters:,} characters")
    print(f"median {median(took):.1f} ms (target {TARGETS[0]:.0f})")
    print(f"95th percentile {high:.1f} ms (target {TARGETS[1]:.0f}), longest {max(took):.1f} ms")


if __name__ == "__main__":
    main()
