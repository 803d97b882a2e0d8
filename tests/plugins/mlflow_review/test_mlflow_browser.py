"""What a browser makes of texts of strangers in MLflow's review view, and of a click there."""

import re
import time
from datetime import UTC, datetime

import pytest

from monitor.domain.model import Answer, Task
from tests.plugins.mlflow_review.review_people import V3, View, review_labeler
from tests.service.pages.browsers import chromium
from tests.service.pages.hostile import HOSTILE, OUT

pytestmark = [pytest.mark.server, pytest.mark.slow]
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
AT_ONCE = 700
"""Characters: of a longer text the view shows the beginning first."""
PLAIN = """Dear Ms Smith,

   your *booking* of **Hotel** _Astra_ is confirmed:
- https://example.org/a_b/x*y?c=1&d=[2]
* www.example.org/a_b_c and a_b@example.org
1. C:\\path\\x
# not a heading
===
| a | b |
last line"""
PICTURES = [f"![seen]({OUT}.png)", f"[![seen]({OUT}.png)]({OUT})", f"![seen][1]\n\n[1]: {OUT}.png"]


@pytest.fixture
def view(mlflow_url):
    return View.of_a_new_experiment(mlflow_url)


@pytest.fixture
def open_item(view):
    """Open the view at a task's item."""
    with chromium() as browser:

        def opened(key, wanted):
            where = {"experiment_id": view.experiment, "name": "r"}
            queue = view.call("GET", f"{V3}/review-queues/get-by-name", **where)["review_queue"]
            item = view.traces()[key]["trace_id"]
            browser.driver.get("about:blank")
            browser.driver.get(
                f"{view.url}/#/experiments/{view.experiment}/review-queue"
                f"?selectedQueueId={queue['queue_id']}&selectedItemId={item}"
            )
            browser.until(lambda: wanted in browser.text())
            return browser

        yield opened


def send(view, database, texts):
    tasks = {key: Task(key, key, {"text": text}) for key, text in texts.items()}
    labeler = review_labeler(view.url, view.name, database, lambda: NOW)
    labeler.send("r", list(tasks.values()))
    return labeler, tasks


def together(texts):
    """Put several short texts into one, so that fewer items have to be opened."""
    parts = [""]
    for text in texts:
        if len(parts[-1]) + len(text) > AT_ONCE:
            parts.append("")
        parts[-1] += f"\n{text[:AT_ONCE]}"
    return parts


def words(text):
    return re.sub(r"\s+", " ", text).strip()


def test_a_text_is_shown_as_it_stands_with_its_lines(view, database, open_item):
    send(view, database, {"plain": PLAIN})

    shown = open_item("plain", "last line").text()

    lines = [words(line) for line in PLAIN.splitlines() if line]
    assert [line for line in lines if line not in map(words, shown.splitlines())] == []


def test_no_text_of_a_stranger_runs_a_script_or_loads_anything(view, database, open_item):
    texts = {
        f"t{number}": f"{part}\n\nthe end of {number}"
        for number, part in enumerate(together([*PICTURES, *HOSTILE]))
    }
    send(view, database, texts)

    for number, key in enumerate(texts):
        browser = open_item(key, f"the end of {number}")
        time.sleep(0.5)  # what would be loaded later
        assert not browser.driver.execute_script("return window.ran")
        assert [url for url in browser.requests() if url.startswith(OUT)] == []


def test_a_click_in_the_view_is_the_label_of_whom_mlflow_names(view, database, open_item):
    labeler, tasks = send(view, database, {"one": "only this text"})
    browser = open_item("one", "only this text")

    browser.until(lambda: len(browser.driver.find_elements("xpath", "//*[text()='Yes']")) == 2)
    browser.driver.find_elements("xpath", "//*[text()='Yes']")[0].click()
    browser.driver.find_element("xpath", "//button[contains(., 'Submit')]").click()
    browser.until(lambda: labeler.collect(tasks, None).events)

    [event] = labeler.collect(tasks, None).events
    assert (event.annotator, event.answer) == ("default", Answer.POSITIVE)
