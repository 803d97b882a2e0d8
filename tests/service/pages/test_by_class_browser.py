"""One answer for several classes, in a real browser, served by the real command."""

import csv
from datetime import UTC, datetime, timedelta

import pytest

from tests.service.pages.browsers import DOWN, ENTER, ESCAPE, LabelCommand, chromium
from tests.service.pages.test_browser import run_once, said

pytestmark = pytest.mark.server

CLASSES = ("News", "Travel", "Trade", *(f"Topic {place}" for place in range(9)))
CONFIG = """\
store: sqlite:///monitor.db
mlflow: {{tracking_uri: "sqlite:///mlflow.db"}}
monitors:
  - name: mail-{{class}}
    classes:
      column: topic
      values: {{{classes}}}
    source:
      path: mails.csv
      columns: {{id: id, time: at, show: [subject]}}
    schedule: {{cron: "0 6 * * MON"}}
    sample: {{max_labels: 4}}
    labeling: {{kind: page, question: "What is it about?", answer: class}}
"""


@pytest.fixture
def shop(folder):
    """A folder with a round of each class on the page."""
    newest = datetime.now(UTC)
    with (folder / "mails.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "at", "topic", "subject"])
        for number in range(21 * 24):
            at = (newest - timedelta(hours=number)).isoformat()
            topic = CLASSES[number % len(CLASSES)]
            writer.writerow([f"m{number:04}", at, topic, f"about {topic}, {number}"])
    names = ", ".join(f"c{place}: {name}" for place, name in enumerate(CLASSES))
    (folder / "config.yaml").write_text(CONFIG.format(classes=names))
    run_once(folder)
    return LabelCommand(folder)


def press_on(browser, *keys):
    """Press keys and wait for another item; returns the task that was answered."""
    before = browser.task
    for key in keys:
        browser.press(key)
    browser.until(lambda: browser.task not in {None, before})
    return before


@pytest.mark.slow
def test_letters_find_a_class_among_many_and_enter_answers(shop):
    with shop.running() as link, chromium() as browser:
        browser.enter(link).until(browser.is_ready)
        buttons = [button.text for button in browser.all("#answers .choices button")]
        browser.press(ENTER)  # chooses nothing
        given = {press_on(browser, "c", "tra", ENTER): "class 1"}
        given[press_on(browser, "TRA", DOWN, ENTER)] = "class 2"
        browser.press("none")
        matching = browser.text("#matching")
        given[press_on(browser, ENTER)] = "0"
        browser.press(ENTER)
        given[press_on(browser, ESCAPE, "?")] = "cannot tell"
        wrong = press_on(browser, "0")
        browser.press("u")
        browser.until(lambda: browser.task == wrong)
        browser.find("#answers button[value='class 4']").click()
        given[wrong] = "class 4"
        browser.until(browser.is_sent)
        complaints = browser.log()

    assert tuple(buttons) == CLASSES
    assert matching == '0 of 12; Enter answers "None of these"'
    assert dict(said(shop.folder, "task_key, answer")) == given
    assert complaints == []
