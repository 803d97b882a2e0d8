"""Pictures of what MLflow's own pages show of a fleet, from a real server by a real browser.

    python -m benchmarks mlflow_pictures [--to FOLDER] [--served proxied] [--store sqlite]
        [--widths 1600 1280] [--rounds 30] [--monitors 12] [--python PYTHON]
        [--for-docs] [--stay]

Plays `benchmarks.mlflow_story`, tells it to an MLflow server on loopback and takes a picture of
each page that a reviewer sees, at each width. ``--served`` is how the server is started:
``proxied`` (files go through it, its default), ``direct`` (``--no-serve-artifacts``), ``prefix``
(``--static-prefix /mlflow``) or ``auth`` (``--app-name basic-auth``). ``--store postgres`` keeps
the monitors' store and MLflow's in PostgreSQL. ``--python`` starts the server of another
environment, to see what one of another version makes of it. ``--for-docs`` writes the pictures of
docs/mlflow.md into docs/figures instead. Needs Chromium, its driver and selenium. The rounds take
two minutes, the pictures of a width two more.
"""

# mypy: allow-untyped-calls
# (what the tests have for servers and browsers is not typed)

import base64
import logging
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import structlog

from benchmarks.mlflow_story import Plot, Story
from monitor.tracking.connection import load_mlflow
from monitor.tracking.links import CLASSIC, view_path
from monitor.tracking.saved_views import (
    CHARTS,
    ROUNDS,
    charts_of,
    fleet_views,
    key_of,
    monitor_views,
)
from tests.mlflow_server import MlflowServer, accounts
from tests.servers import postgres
from tests.service.pages.browsers import chromium

SERVED = ("proxied", "direct", "prefix", "auth")
SETTLED = 4.0  # seconds that charts and tables of MLflow's pages take after their text
DOCS = Path(__file__).parents[1] / "docs" / "figures"
FOR_DOCS = {"rounds": 1020, "charts": 1000, "run-note": 1480, "model-version": 1000}
"""Pictures that docs/mlflow.md shows, and how high the window is."""
COLOURS = 128
USER = "root"
OPENS_A_NOTE = (
    "[data-component-id='mlflow.experiment.metadata_editor.expand_button'],"
    "[data-component-id='discovery.data_explorer.entity_comment.show_comment_text_toggle']"
)


class Page(NamedTuple):
    """A page to look at: its address after the server's, and what shows that it is there."""

    name: str
    path: str
    shows: str


@dataclass(frozen=True)
class Served:
    """A server that runs; with accounts, the password of ``root``."""

    url: str
    password: str = ""

    def headers(self) -> dict[str, str]:
        """Let a browser in."""
        if not self.password:
            return {}
        known = base64.b64encode(f"{USER}:{self.password}".encode()).decode()
        return {"Authorization": f"Basic {known}"}


def main(
    *,
    to: Path = Path("mlflow-pictures"),
    served: str = "proxied",
    store: Literal["sqlite", "postgres"] = "sqlite",
    widths: tuple[int, ...] = (1600, 1280),
    rounds: int = 30,
    monitors: int = 12,
    python: str = "",
    for_docs: bool = False,
    stay: bool = False,
) -> None:
    """Play, tell, and take the pictures."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    to.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stores = [stack.enter_context(database(store)) for _ in range(2)]
        server = stack.enter_context(server_of(folder, served, stores[1], python))
        print(f"{server.url} {server.headers()}", flush=True)
        plot = Plot(rounds, monitors)
        story = played(folder, server.url, stores[0] or "sqlite:///monitor.db", plot)
        pages = pages_of(story)
        for page in pages:
            print(f"{page.name}: {server.url}/{page.path}")
        if for_docs:
            take_for_docs(server, pages, DOCS)
        for width in [] if for_docs else widths:
            take(server, pages, width, to)
        if stay:
            input("Enter ends it.")


@contextmanager
def database(kind: str) -> Iterator[str]:
    """Start a database server where one is asked for; empty for a file."""
    if kind == "sqlite":
        yield ""
        return
    with postgres() as url:
        yield url


@contextmanager
def server_of(folder: Path, how: str, backend: str = "", python: str = "") -> Iterator[Served]:
    """Run a server; the client's credentials are in the environment meanwhile."""
    more = ["--backend-store-uri", backend] if backend else []
    environment: dict[str, str] = {}
    password = ""
    if how == "direct":
        more += ["--no-serve-artifacts", "--default-artifact-root", f"{folder}/artifacts"]
    if how == "auth":
        password = secrets.token_urlsafe(16)
        more += ["--app-name", "basic-auth"]
        environment = accounts(folder, password)
    prefix = "/mlflow" if how == "prefix" else ""
    named = {"python": python} if python else {}
    server = MlflowServer(folder, more=more, environment=environment, prefix=prefix, **named)
    credentials = {"MLFLOW_TRACKING_USERNAME": USER, "MLFLOW_TRACKING_PASSWORD": password}
    with server:
        os.environ.update(credentials if password else {})
        try:
            yield Served(server.url, password)
        finally:
            for name in credentials:
                os.environ.pop(name, None)


def client_of(url: str) -> Any:
    """Make a client as a person has it."""
    load_mlflow()
    from mlflow import MlflowClient  # noqa: PLC0415

    return MlflowClient(url)


def played(folder: Path, url: str, store_url: str, plot: Plot) -> Story:
    """Register the model, play all rounds and tell them."""
    client = client_of(url)
    client.create_registered_model("mail-travel")
    client.create_model_version("mail-travel", source="s3://models/mail-travel/7")
    story = Story(folder, url, store_url, plot, model="models:/mail-travel/1")
    begun = time.monotonic()
    for week in story.play():
        print(f"week {week} is told after {time.monotonic() - begun:.0f} s", flush=True)
    return story


def pages_of(story: Story) -> list[Page]:
    """List what a reviewer sees, in the order in which they come by it."""
    client = client_of(story.mlflow)
    first = story.names[0]
    fleet, own = (
        client.get_experiment_by_name(name).experiment_id
        for name in ("monitor", f"monitor/{first}")
    )
    run, *_ = client.search_runs([own], order_by=["attributes.start_time DESC"])
    alert = next(notice for notice in story.notices if notice.event == "alert.firing")
    linked = (story.link(alert) or "").removeprefix(f"{story.mlflow}/")
    verdict = "since round"
    runs, all_runs = (f"#/experiments/{each}/runs?{CLASSIC}" for each in (own, fleet))
    one = f"#/experiments/{own}/runs/{run.info.run_id}"
    return [
        Page("home", "#/experiments", first),
        Page("alert-link", linked, verdict),
        Page("experiment-by-hand", f"#/experiments/{own}", verdict),
        Page("experiment", runs, verdict),
        Page("experiment-note", runs, verdict),
        Page("rounds", view_path(own, key_of(ROUNDS, monitor_views()), charts=False), "ALERT"),
        Page("charts", view_path(fleet, key_of(first, charts_of(first)), charts=True), "limit"),
        Page("fleet", all_runs, first),
        Page("monitors", view_path(fleet, key_of("Monitors", fleet_views()), charts=False), first),
        *(
            Page(
                f"fleet-{name.split()[0].lower()}",
                view_path(fleet, key_of(name, fleet_views()), charts=True),
                first,
            )
            for name in (CHARTS, "Evidence")
        ),
        Page("run", f"{one}?{CLASSIC}", "ALERT"),
        Page("run-note", f"{one}?{CLASSIC}", "ALERT"),
        Page("run-artifacts", f"{one}/artifacts?{CLASSIC}", "timeline"),
        Page("model-version", f"#/models/{first}/versions/1?{CLASSIC}", "Registered"),
    ]


def take(server: Served, pages: list[Page], width: int, to: Path) -> None:
    """Take a picture of each page at a width."""
    with chromium() as browser:
        begin(browser, server, width)
        for page in pages:
            show(browser, server, page)
            browser.driver.save_screenshot(str(to / f"{page.name}-{width}.png"))


def take_for_docs(server: Served, pages: list[Page], to: Path) -> None:
    """Take those that the documentation shows, each as high as it needs, in few colours."""
    from PIL import Image  # noqa: PLC0415  for this alone

    with chromium() as browser:
        begin(browser, server, 1280)
        for page in pages:
            if page.name in FOR_DOCS:
                browser.driver.set_window_size(1280, FOR_DOCS[page.name])
                show(browser, server, page)
                path = to / f"mlflow-{page.name}.png"
                browser.driver.save_screenshot(str(path))
                with Image.open(path) as picture:
                    few = picture.convert("RGB").quantize(
                        COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
                    )
                few.save(path, optimize=True)


def begin(browser: Any, server: Served, width: int) -> None:
    """Let a browser in, and close what opens by itself on a first visit."""
    browser.driver.set_window_size(width, width * 5 // 8)
    if server.password:
        browser.driver.execute_cdp_cmd("Network.enable", {})
        known = {"headers": server.headers()}
        browser.driver.execute_cdp_cmd("Network.setExtraHTTPHeaders", known)
    browser.driver.get(server.url)
    browser.driver.execute_script(
        "localStorage['mlflow.assistant.fab.autoOpenedOnFirstLoad_v1'] = 'true';"
        "localStorage['mlflow.assistant.panelOpen_v1'] = 'false';"
    )


def show(browser: Any, server: Served, page: Page) -> None:
    """Open a page, and the description where the picture is of that."""
    browser.driver.get("about:blank")  # else only what is behind the # differs
    browser.driver.get(f"{server.url}/{page.path}")
    browser.until(lambda: page.shows in browser.text())
    time.sleep(SETTLED)
    if page.name.endswith("-note"):
        for button in browser.all(OPENS_A_NOTE):
            button.click()
        time.sleep(1)
