"""From the input that gives an answer to the painted next item, in a real browser.

``python -m benchmarks labeling_page`` labels a round of 200 mails by keys in Chromium without a
window, and prints the median and the 95th percentile. Needs Chromium, its driver and selenium.
``--beside mlflow label_studio`` labels such mails in MLflow's review view and in Label Studio too,
each started on loopback while it is measured; LABEL_STUDIO_COMMAND is what starts the latter.
"""

# mypy: allow-untyped-calls
# (what the tests have for servers and people is not typed)

import logging
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import structlog

from benchmarks.labeling_tools import Timed, labeling_stream, mail, review_view, timed
from monitor.config.pages import PagesSettings
from monitor.domain.sample_settings import Bands, Sample
from monitor.labeling.page import PageLabeler
from monitor.labeling.page_settings import PageSettings
from monitor.service.pages.serving import PagesServer
from monitor.service.pages.status.board import Board
from monitor.storage import schema
from monitor.storage.database import Database
from tests.label_studio import LabelStudio
from tests.mlflow_server import MlflowServer
from tests.rounds.scene import Scene, settings
from tests.servers import free_port
from tests.service.pages.browsers import chromium

TARGETS = (20.0, 50.0)


def our_page(items: int, characters: int) -> Timed:
    """Label so many mails of so many characters on our page."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        database = Database(f"sqlite:///{folder}/monitor.db")
        schema.ready(database)
        scene = _scene(database, Path(folder), items, characters)
        links: list[str] = []
        server = PagesServer(
            database,
            lambda: datetime.now(UTC),
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
        row["text"] = mail(number, characters)
    scene.run(1)
    return scene


def _labeled(link: str, items: int) -> Timed:
    with chromium() as browser:
        browser.enter(link).until(browser.is_ready)
        return timed(browser, lambda place: browser.press("10"[place % 2]), items - 1)


def in_mlflow(items: int, characters: int) -> Timed:
    """Label such mails in the review view of an MLflow server of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        database = Database(f"sqlite:///{folder}/monitor.db")
        schema.ready(database)
        with MlflowServer(folder) as server, chromium() as browser:
            answer = review_view(browser, server.url, database, _mails(items, characters))
            found = timed(browser, answer, items - 1)
        database.close()
    return found


def in_label_studio(items: int, characters: int) -> Timed:
    """Label such mails in the labeling stream of a Label Studio of its own."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        LabelStudio(Path(folder)) as server,
        chromium() as browser,
    ):
        answer = labeling_stream(browser, server, _mails(items, characters))
        return timed(browser, answer, items - 1)


def _mails(items: int, characters: int) -> list[str]:
    return [mail(number, characters) for number in range(items)]


OTHERS = {
    "mlflow": ("MLflow's review view", in_mlflow),
    "label_studio": ("Label Studio", in_label_studio),
}


def row(name: str, found: Timed) -> str:
    """Write a row of docs/benchmarks.md."""
    took = found.took
    high = quantiles(took, n=20, method="inclusive")[-1]
    figures = (f"{ms:,.1f} ms" for ms in (median(took), high, max(took)))
    return f"| {name} | {len(took)} | {found.inputs()} | {' | '.join(figures)} |"


def main(
    items: int = 200, characters: int = 2000, beside: tuple[str, ...] = (), items_beside: int = 50
) -> None:
    """Measure, and print the table of docs/benchmarks.md."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    print(f"texts of {characters:,} characters; target of the labeling page:")
    print(f"median {TARGETS[0]:.0f} ms, 95th percentile {TARGETS[1]:.0f} ms\n")
    print("| page | answers | inputs an item | median | 95th percentile | longest |")
    print("|---|---|---|---|---|---|")
    print(row("labeling page", our_page(items, characters)), flush=True)
    for one in beside:
        name, measure = OTHERS[one]
        print(row(name, measure(items_beside, characters)), flush=True)
