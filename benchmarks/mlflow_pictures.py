"""The pictures of docs/how-to/mlflow.md, of a fleet on a real server by a real browser.

Needs Chromium, its driver and selenium.
"""

# mypy: allow-untyped-calls
# (what the tests have for servers, people and browsers is not typed)

import logging
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import structlog

from monitor import wiring
from monitor.config.load import load_config
from monitor.domain.model import LOG, MLFLOW, Effect
from monitor.domain.notice import Notice
from monitor.rounds.delivery import deliver
from monitor.rounds.run import run
from monitor.storage import schema
from monitor.storage.tables import store
from monitor.tracking.connection import load_mlflow
from monitor.tracking.links import CLASSIC, view_path
from monitor.tracking.saved_views import ROUNDS, charts_of, key_of, monitor_views
from tests.mlflow_server import MlflowServer
from tests.service.pages.browsers import chromium

FIRST = datetime(2025, 1, 6, 6, 1, tzinfo=UTC)
WEEK = timedelta(days=7)
AFTER_THE_DEADLINE = timedelta(hours=2)
ROWS = 6000  # a week
STORE_ID = "8a0f5b52-0d33-5b43-9a35-0c9b1f2a7d11"
LABELS = 300
NAMES = (
    *("mail-travel", "mail-invoices", "mail-spam", "returns", "refunds", "card-fraud"),
    *("toxic-comments", "job-titles", "duplicates", "address-match", "x-ray-triage", "leads"),
)
HEAD = """\
store: sqlite:///monitor.db
mlflow: {{tracking_uri: "{mlflow}", timeout: 5m}}
monitors:
"""
MONITOR = """\
  - name: {name}
    {model}source:
      kind: duckdb
      path: {name}.parquet
      columns: {{id: id, time: scored_at, score: score}}
      threshold: 0.5
    schedule: {{cron: "0 6 * * MON"}}
    sample: {{max_labels: {labels}}}
    labeling: {{kind: column, path: "truth-{name}-*.parquet", id: id, value: truth, matures: 1h}}
    limits: {{precision: 0.7, recall: 0.8}}
"""
# `positive` is the probability of a positive: high scores are right, and in the weeks from `fall`
# the classifier misses more.
PREDICTIONS = """
create table predictions as
    select 'm' || i as id, week, score, i % 6 = 0 as is_late,
        timestamptz '{first}' + (i + 0.5) * interval 1 week / {rows} as scored_at,
        cast(random() < case
            when score >= 0.5 then {right} + (1 - {right}) * score * score
            else {missed} * score * case when week >= {fall} then 5 else 1 end
        end as integer) as truth
    from (
        select i, i // {rows} + 1 as week, pow(random(), 5) as score
        from range({rows} * {weeks}) as t(i)
    )
"""


@dataclass(frozen=True)
class Plot:
    """In which rounds what happens to the first monitor, and how long the others are watched."""

    rounds: int = 30
    monitors: int = 12
    others: int = 12

    @property
    def fall(self) -> int:
        """From when on more is missed."""
        return self.rounds - self.rounds // 5

    @property
    def stale(self) -> int:
        """Nobody labels anything."""
        return self.rounds // 2

    @property
    def late(self) -> int:
        """A sixth of the labels comes two weeks late."""
        return max(2, self.rounds // 3)


@dataclass
class Story:
    """Plays the rounds of a fleet in a folder; ``notices`` are what the log was sent, by monitor.

    ``model`` is a registered version that the first monitor watches, such as ``models:/mail/1``.
    """

    folder: Path
    mlflow: str
    plot: Plot = field(default_factory=Plot)
    model: str | None = None
    notices: list[Notice] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = NAMES[: self.plot.monitors]
        self._now = FIRST
        config = self.folder / "config.yaml"
        config.write_text(self._config())
        self.application = wiring.build(load_config(config), clock=lambda: self._now)
        schema.ready(self.application.database)
        with self.application.database.write() as connection:  # the draws depend on it
            connection.execute(store.update().values(id=STORE_ID))
        self._handlers = {LOG: _Listener(self.notices), MLFLOW: self.application.handlers[MLFLOW]}

    def _config(self) -> str:
        model = f"model: {self.model}\n    " if self.model else ""
        of_each = [
            MONITOR.format(name=name, labels=LABELS, model="" if place else model)
            for place, name in enumerate(self.names)
        ]
        return HEAD.format(mlflow=self.mlflow) + "".join(of_each)

    def play(self) -> Iterator[int]:
        """Play week after week for all monitors; yields the number of each week that is told."""
        data = {name: self._predictions(place, name) for place, name in enumerate(self.names)}
        begin = self.plot.rounds - self.plot.others
        for week in range(1, self.plot.rounds + 1):
            for place, name in enumerate(self.names):
                if place == 0 or week > begin:
                    self._label(data[name], name, week, is_first=place == 0)
                    self._round(name, week)
            self.tell()
            yield week

    def tell(self) -> None:
        """Deliver to MLflow and the log what waits; nothing of it may fail."""
        told = deliver(self.application.database, self._handlers, lambda: self._now)
        if told.failed:
            raise SystemExit(str(told.failed))

    def link(self, notice: Notice) -> str | None:
        """Find the page in MLflow that a hook's message links."""
        return self.application.link(notice)

    def close(self) -> None:
        """Give the store back."""
        self.application.database.close()

    def _predictions(self, place: int, name: str) -> Any:
        """Make the predictions of all weeks, with the truth that stays to be told."""
        connection = duckdb.connect()
        connection.execute(f"set timezone = 'UTC'; select setseed({0.03 * (place + 1)})")
        connection.execute(
            PREDICTIONS.format(
                first=FIRST - WEEK - timedelta(minutes=1),
                rows=ROWS,
                weeks=self.plot.rounds,
                right=0.62 + 0.02 * (place % 4),
                missed=0.12 + 0.02 * (place % 5),
                fall=self.plot.fall if place == 0 else self.plot.rounds + 1,
            )
        )
        path = self.folder / f"{name}.parquet"
        connection.execute(f"copy (select id, scored_at, score from predictions) to '{path}'")
        return connection

    def _label(self, data: Any, name: str, week: int, *, is_first: bool) -> None:
        """Write the truth that is known by now, as a file of the week."""
        wanted = f"week = {week}"
        if is_first and week == self.plot.stale:
            wanted = "false"
        if is_first and week == self.plot.late:
            wanted += " and not is_late"
        if is_first and week == self.plot.late + 2:
            wanted += f" or (week = {self.plot.late} and is_late)"
        path = self.folder / f"truth-{name}-{week:03}.parquet"
        data.execute(f"copy (select id, truth from predictions where {wanted}) to '{path}'")

    def _round(self, name: str, week: int) -> None:
        slot = FIRST + (week - 1) * WEEK
        context = self.application.context(name)
        for self._now in (slot, slot + AFTER_THE_DEADLINE):
            run(context)


class _Listener:
    """Takes the notices that would go to the log."""

    def __init__(self, heard: list[Notice]) -> None:
        self._heard = heard

    def deliver(self, effect: Effect) -> str:
        """Keep a notice."""
        self._heard.append(Notice.model_validate(dict(effect.payload)))
        return "heard"


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
