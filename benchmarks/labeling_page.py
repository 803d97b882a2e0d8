"""From the input that gives an answer to the painted next item, in a real browser.

Needs Chromium, its driver and selenium. ``--beside mlflow label_studio`` labels such mails in
MLflow's review view and in Label Studio too; LABEL_STUDIO_COMMAND is what starts the latter.
"""

# mypy: allow-untyped-calls
# (what the tests have for servers, people and browsers is not typed)

import logging
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import structlog

from monitor.config.pages import PagesSettings
from monitor.domain.model import Task
from monitor.domain.sample_settings import Bands, Sample
from monitor.labeling.page import PageLabeler
from monitor.labeling.page_settings import PageSettings
from monitor.service.pages.serving import PagesServer
from monitor.service.pages.status.addresses import Board
from monitor.storage import schema
from monitor.storage.database import Database
from tests.label_studio import LabelStudio, labeler_on
from tests.mlflow_server import MlflowServer
from tests.plugins.mlflow_review.review_people import V3, View, review_labeler
from tests.rounds.scene import Scene, settings
from tests.servers import free_port
from tests.service.pages.browsers import Browser, chromium

Answer = Callable[[int], object]
"""Answers the item on the screen as a person does: yes to the even ones, no to the odd ones."""

# A frame begins with what was asked for by requestAnimationFrame; what is posted from there runs
# once the frame is painted. Another input of the same answer starts the clock again.
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
window.keys = window.clicks = 0;
let latest;
const watch = (event) => {
  const before = shown();
  latest = event;
  const look = () => {
    if (latest !== event) return;
    const now = shown();
    if (now === null || now === before) { requestAnimationFrame(look); return; }
    const channel = new MessageChannel();
    channel.port1.onmessage = () => window.took.push(performance.now() - event.timeStamp);
    channel.port2.postMessage(null);
  };
  requestAnimationFrame(look);
};
addEventListener("keydown", (event) => { window.keys += 1; watch(event); }, { capture: true });
addEventListener("pointerdown", () => { window.clicks += 1; }, { capture: true });
addEventListener("click", watch, { capture: true });
"""
CTRL_ENTER = "\ue009\ue007"
"""As WebDriver writes the chord."""
LOOKS = 0.25
"""Seconds that somebody looks at an item at least."""
LOST = 3
"""Seconds after which a click that did nothing is given again, and counted again."""
PATIENCE = 60
"""Seconds after which an item that does not come is an error."""


@dataclass(frozen=True)
class Timed:
    """Milliseconds from the last input of each answer to the painted next item; the inputs."""

    took: list[float]
    keys: int
    clicks: int

    def inputs(self) -> str:
        """Say what an item takes, such as `2 clicks`; each key of a chord counts."""
        each = {"key": self.keys / len(self.took), "click": self.clicks / len(self.took)}
        return ", ".join(
            f"{number:.3g} {name}{'' if number == 1 else 's'}"
            for name, number in each.items()
            if number
        )


def mail(number: int, characters: int) -> str:
    """Write a mail; the script in the page knows mails by their beginning."""
    return f"item {number} {'lorem ipsum ' * (characters // 12)}"


def timed(browser: Browser, answer: Answer, answers: int) -> Timed:
    """Give so many answers, each when the item before it is gone, and time them in the page."""
    driver = browser.driver
    driver.execute_script(WATCH)
    for place in range(answers):
        time.sleep(LOOKS)
        answer(place)
        _wait(driver, place + 1)
    return Timed(*driver.execute_script("return [window.took, window.keys, window.clicks]"))


def _wait(driver: Any, answers: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while driver.execute_script("return window.took.length") < answers:
        if time.monotonic() > deadline:
            message = f"no item was shown after answer {answers} within {PATIENCE} s"
            raise TimeoutError(message)
        time.sleep(LOOKS)  # seldom, so that asking does not slow the page


def review_view(browser: Browser, url: str, database: Database, mails: list[str]) -> Answer:
    """Open MLflow's review view at the first of the mails."""
    view = View.of_a_new_experiment(url)
    labeler = review_labeler(url, view.name, database, lambda: datetime.now(UTC))
    labeler.send("round", _tasks(mails))
    where = {"experiment_id": view.experiment, "name": "round"}
    queue = view.call("GET", f"{V3}/review-queues/get-by-name", **where)["review_queue"]
    item = view.queues()["round"][0]["item_id"]
    browser.driver.get(
        f"{url}/#/experiments/{view.experiment}/review-queue"
        f"?selectedQueueId={queue['queue_id']}&selectedItemId={item}"
    )
    browser.until(lambda: _answer_buttons(browser, "Yes"))

    def answer(place: int) -> None:
        word = ("Yes", "No")[place % 2]
        browser.until(lambda: len(_answer_buttons(browser, word)) == 2)  # of two questions
        browser.until(lambda: _chosen(browser, word))
        _submit(browser).click()

    return answer


def _answer_buttons(browser: Browser, word: str) -> list[Any]:
    found: list[Any] = browser.driver.find_elements("xpath", f"//*[text()='{word}']")
    return found


def _chosen(browser: Browser, word: str) -> bool:
    """Click an answer; false if the view lost the click, as it may while it still loads."""
    _answer_buttons(browser, word)[0].click()
    deadline = time.monotonic() + LOST
    while not _submit(browser).is_enabled():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _submit(browser: Browser) -> Any:
    return browser.driver.find_element("xpath", "//button[contains(., 'Submit')]")


def labeling_stream(browser: Browser, server: LabelStudio, mails: list[str]) -> Answer:
    """Log in to Label Studio and open the labeling stream of the mails."""
    labeler = labeler_on(server.url)
    labeler.send("round", _tasks(mails))
    [project] = server.projects(labeler)
    driver = browser.driver
    driver.get(f"{server.url}/user/login/")
    browser.find("[name=email]").send_keys("ada@example.com")
    browser.find("[name=password]").send_keys(server.password)
    browser.find("button[type=submit]").click()
    browser.until(lambda: "/login" not in driver.current_url)
    driver.get(f"{server.url}/projects/{project}/data?labeling=1")
    browser.until(lambda: "item " in browser.text(".lsf-richtext"))

    def answer(place: int) -> None:
        browser.press("10"[place % 2])
        browser.press(CTRL_ENTER)

    return answer


def _tasks(mails: list[str]) -> list[Task]:
    return [Task(f"t{n}", f"mail-{n}", {"text": text}) for n, text in enumerate(mails)]


TARGETS = (20.0, 50.0)


def our_page(items: int, characters: int) -> Timed:
    """Label so many mails of so many characters on our page."""
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
    """Write a row of benchmarks/results/labeling_page.txt."""
    took = found.took
    high = quantiles(took, n=20, method="inclusive")[-1]
    figures = (f"{ms:,.1f} ms" for ms in (median(took), high, max(took)))
    return f"| {name} | {len(took)} | {found.inputs()} | {' | '.join(figures)} |"


def main(
    items: int = 200, characters: int = 2000, beside: tuple[str, ...] = (), items_beside: int = 50
) -> None:
    """Measure, and print the table of benchmarks/results/labeling_page.txt."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    print(f"texts of {characters:,} characters; target of the labeling page:")
    print(f"median {TARGETS[0]:.0f} ms, 95th percentile {TARGETS[1]:.0f} ms\n")
    print("| page | answers | inputs an item | median | 95th percentile | longest |")
    print("|---|---|---|---|---|---|")
    print(row("labeling page", our_page(items, characters)))
    for one in beside:
        name, measure = OTHERS[one]
        print(row(name, measure(items_beside, characters)))
