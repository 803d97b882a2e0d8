"""One answer for several classes, in a real browser, served by the real command."""

import csv
import os
from datetime import UTC, datetime, timedelta

import pytest

if os.environ.get("CI") != "true":
    pytest.importorskip("selenium", reason="selenium is not installed (requirements/dev.lock)")

from selenium.webdriver.common.keys import Keys

from monitor.config.load import load_config
from monitor.rounds import run
from monitor.storage import schema
from monitor.wiring import build
from tests.service.pages.browsers import LabelCommand, chromium
from tests.service.pages.test_browser import asked_of

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

SETTLED = """
select p.answer, s.place, e.answer from page_answers p
join page_shares s on s.page_key = p.task_key
join label_events e on e.external_id = s.task_key || '/ada'
where p.task_key in (select task_key from page_answers group by 1 having count(*) = 1)
"""
"""What was said once about an item, and what each monitor that drew it made of that."""


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


def run_once(folder):
    application = build(load_config(folder / "config.yaml"))
    schema.ready(application.database)
    for context in application.monitors:
        run.run(context)
    application.database.close()


def press_on(browser, *keys):
    """Press keys and wait for another item; returns the task that was answered."""
    before = browser.task
    for key in keys:
        browser.press(key)
    browser.until(lambda: browser.task not in {None, before})
    return before


@pytest.mark.slow
def test_letters_find_a_class_among_many_and_enter_answers_for_all_that_drew_the_item(shop):
    with shop.running() as link, chromium() as browser:
        browser.enter(link).until(browser.is_ready)
        buttons = [button.text for button in browser.all("#answers .choices button")]
        browser.press(Keys.ENTER)  # chooses nothing
        given = {press_on(browser, "c", "tra", Keys.ENTER): "class 1"}
        given[press_on(browser, "TRA", Keys.ARROW_DOWN, Keys.ENTER)] = "class 2"
        browser.press("none")
        said = browser.text("#matching")
        given[press_on(browser, Keys.ENTER)] = "0"
        browser.press(Keys.ENTER)
        given[press_on(browser, Keys.ESCAPE, "?")] = "cannot tell"
        wrong = press_on(browser, "0")
        browser.press("u")
        browser.until(lambda: browser.task == wrong)
        browser.find("#answers button[value='class 4']").click()
        given[wrong] = "class 4"
        browser.until(browser.is_sent)
        complaints = browser.log()
    run_once(shop.folder)

    assert tuple(buttons) == CLASSES
    assert said == '0 of 12; Enter answers "None of these"'
    query = "select task_key, answer from page_answers order by id"
    assert dict(asked_of(shop.folder, query)) == given
    assert complaints == []
    settled = asked_of(shop.folder, SETTLED)
    assert {said for said, *_ in settled} >= {"class 1", "class 2", "0", "cannot tell"}
    for said, place, answer in settled:
        if said == "cannot tell":
            assert answer == said
        else:
            assert answer == ("1" if said == f"class {place}" else "0")
