"""What a stranger asks who follows the link of an alert, each answered at most one click away."""

import re

import pytest

from benchmarks.mlflow_pictures import begin
from tests.pages import page
from tests.service.pages.browsers import chromium
from tests.tracking.fleet_story import Plot, Story

pytestmark = [pytest.mark.server, pytest.mark.slow]
ARROW = "[data-component-id='mlflow.experiment.metadata_editor.expand_button']"
HERE, NOTE, CHARTS = "the line at the top", "the arrow at its end", "Charts"
ANSWERS = {
    "Is it still good?": (HERE, "ALERT"),
    "Since when not?": (HERE, r"since round \d"),
    "Which limit does it break?": (HERE, r"Recall 0\.\d+ \(limit 0\.8\)"),
    "How sure is that?": (NOTE, r"ecall (is )?0\.\d+ \(0\.\d+ to 0\.\d+\)"),
    "What shall I do?": (NOTE, "If labels are wrong, correct them"),
    "What changed?": (NOTE, "the classifier or its input has changed"),
    "How many labels is that from?": (NOTE, r"flagged; \d+ labels"),
    "Can I trust it?": (NOTE, "at most one false alarm in 52 rounds"),
    "What comes next?": (NOTE, "20 ends the alert"),
    "Did it fall at once or slowly?": (CHARTS, "Point, interval and limit"),
}


@pytest.fixture(scope="module")
def link(tmp_path_factory, mlflow_url):
    """The address that a hook's message about an alert has."""
    story = Story(tmp_path_factory.mktemp("story"), mlflow_url, plot=Plot(rounds=20, monitors=1))
    for _ in story.play():
        pass
    [alert] = [notice for notice in story.notices if notice.event == "alert.firing"]
    story.close()
    return story.link(alert)


def test_each_question_is_answered_at_most_one_click_from_the_link_of_the_alert(link, mlflow_url):
    unanswered = {}
    with chromium() as browser:
        begin(browser, mlflow_url, 1280)
        for place in (HERE, NOTE, CHARTS):
            browser.driver.get("about:blank")  # else only what is behind the # differs
            browser.driver.get(link)
            browser.until(lambda: "ALERT" in browser.text())
            click(browser, place)
            for question, (where, answer) in ANSWERS.items():
                if where == place and not appears(browser, answer):
                    unanswered[question] = browser.text()

    assert unanswered == {}


def test_the_questions_of_the_documentation_are_these():
    rows = re.findall(r"^\| (.+\?) \| (.+?) \|", page("mlflow"), re.MULTILINE)

    assert rows == [(question, where) for question, (where, _) in ANSWERS.items()]


def click(browser, place):
    """Click once, or not at all."""
    if place == NOTE:
        browser.until(lambda: browser.has(ARROW))
        browser.find(ARROW).click()
    if place == CHARTS:
        [charts] = [each for each in browser.all("a") if each.text == CHARTS]
        charts.click()
        browser.until(lambda: len(browser.driver.window_handles) > 1)
        browser.driver.switch_to.window(browser.driver.window_handles[-1])


def appears(browser, answer):
    try:
        browser.until(lambda: re.search(answer, browser.text()))
    except AssertionError:
        return False
    return True
