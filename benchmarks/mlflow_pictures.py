"""The pictures of docs/how-to/mlflow.md, of a fleet on a real server by a real browser.

Needs Chromium, its driver and selenium.
"""

# mypy: allow-untyped-calls
# (what the tests have for servers, people and browsers is not typed)

import logging
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import structlog

from monitor.tracking.connection import load_mlflow
from monitor.tracking.links import CLASSIC, view_path
from monitor.tracking.saved_views import ROUNDS, charts_of, key_of, monitor_views
from tests.mlflow_server import MlflowServer
from tests.service.pages.browsers import chromium
from tests.tracking.fleet_story import Plot, Story

SETTLED = 4.0  # seconds that charts and tables of MLflow's pages take after their text
DOCS = Path(__file__).parents[1] / "docs" / "figures"
HEIGHTS = {"rounds": 1020, "charts": 1000, "run-note": 1480, "model-version": 1000}
COLOURS = 128
OPENS_A_NOTE = (
    "[data-component-id='mlflow.experiment.metadata_editor.expand_button'],"
    "[data-component-id='discovery.data_explorer.entity_comment.show_comment_text_toggle']"
)


class Page(NamedTuple):
    """A page to look at: its address after the server's, and what shows that it is there."""

    name: str
    path: str
    shows: str


def main(*, to: Path = DOCS, rounds: int = 30, monitors: int = 12) -> None:
    """Play, tell, and take the pictures."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, MlflowServer(folder := Path(name)) as server:
        take(server.url, pages_of(played(folder, server.url, Plot(rounds, monitors))), to)


def client_of(url: str) -> Any:
    """Make a client as a person has it."""
    load_mlflow()
    from mlflow import MlflowClient  # noqa: PLC0415

    return MlflowClient(url)


def played(folder: Path, url: str, plot: Plot) -> Story:
    """Register the model, play all rounds and tell them."""
    client = client_of(url)
    client.create_registered_model("mail-travel")
    client.create_model_version("mail-travel", source="s3://models/mail-travel/7")
    story = Story(folder, url, plot, model="models:/mail-travel/1")
    begun = time.monotonic()
    for week in story.play():
        print(f"week {week} is told after {time.monotonic() - begun:.0f} s")
    return story


def pages_of(story: Story) -> list[Page]:
    """List what the documentation shows."""
    client = client_of(story.mlflow)
    first = story.names[0]
    fleet, own = (
        client.get_experiment_by_name(name).experiment_id
        for name in ("monitor", f"monitor/{first}")
    )
    run, *_ = client.search_runs([own], order_by=["attributes.start_time DESC"])
    one = f"#/experiments/{own}/runs/{run.info.run_id}?{CLASSIC}"
    return [
        Page("rounds", view_path(own, key_of(ROUNDS, monitor_views()), charts=False), "ALERT"),
        Page("charts", view_path(fleet, key_of(first, charts_of(first)), charts=True), "limit"),
        Page("run-note", one, "ALERT"),
        Page("model-version", f"#/models/{first}/versions/1?{CLASSIC}", "Registered"),
    ]


def take(url: str, pages: list[Page], to: Path) -> None:
    """Take a picture of each page, as high as it needs, in few colours."""
    from PIL import Image  # noqa: PLC0415  for this alone

    with chromium() as browser:
        begin(browser, url, 1280)
        for page in pages:
            browser.driver.set_window_size(1280, HEIGHTS[page.name])
            show(browser, url, page)
            path = to / f"mlflow-{page.name}.png"
            browser.driver.save_screenshot(str(path))
            with Image.open(path) as picture:
                few = picture.convert("RGB").quantize(
                    COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
                )
            few.save(path, optimize=True)


def begin(browser: Any, url: str, width: int) -> None:
    """Let a browser in, and close what opens by itself on a first visit."""
    browser.driver.set_window_size(width, width * 5 // 8)
    browser.driver.get(url)
    browser.driver.execute_script(
        "localStorage['mlflow.assistant.fab.autoOpenedOnFirstLoad_v1'] = 'true';"
        "localStorage['mlflow.assistant.panelOpen_v1'] = 'false';"
    )


def show(browser: Any, url: str, page: Page) -> None:
    """Open a page, and the description where the picture is of that."""
    browser.driver.get("about:blank")  # else only what is behind the # differs
    browser.driver.get(f"{url}/{page.path}")
    browser.until(lambda: page.shows in browser.text())
    time.sleep(SETTLED)
    if page.name.endswith("-note"):
        for button in browser.all(OPENS_A_NOTE):
            button.click()
        time.sleep(1)
