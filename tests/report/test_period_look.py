"""The report of a period in a real browser: printed on two pages, with no table cut."""

import base64
import re

import pytest

from monitor.report.period_html import period_html
from tests.report.test_html import whole
from tests.report.test_period_html import period_of
from tests.report.test_report_look import BROAD, look
from tests.service.pages.browsers import chromium
from tests.tracking.reports import segments

pytestmark = pytest.mark.server

A4, LETTER = (8.27, 11.69), (8.5, 11)  # inches
MARGIN = 14 / 25.4
CUT = """
return [...document.querySelectorAll(".scroll")]
  .filter((one) => one.firstElementChild.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => one.outerHTML.slice(0, 200));
"""
REASON = "The queue sent old posts to the classifier for a week, and people labeled them all. " * 3


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


def opened(browser, folder):
    """A quarter of weeks of a monitor with segments and two alerts, each with a long note."""
    rows = segments(("country",), ("CZ", "SK", "a country with a long name"))
    report = period_of(REASON)
    rounds = [whole(number, segments=rows) for number in range(30, 43)]
    shown = report.model_copy(
        update={"rounds": rounds, "alerts": report.alerts * 2, "method": ["a sentence"] * 5}
    )
    path = folder / "period.html"
    path.write_bytes(period_html([shown]))
    browser.driver.get(path.as_uri())
    return browser.driver


@pytest.mark.parametrize("paper", [A4, LETTER])
def test_a_quarter_is_printed_on_two_pages_and_no_table_is_cut(browser, tmp_path, paper):
    driver = opened(browser, tmp_path)
    width, height = paper

    look(driver, width=round((width - 2 * MARGIN) * 96), media="print")
    cut = driver.execute_script(CUT)
    options = {"paperWidth": width, "paperHeight": height, "preferCSSPageSize": False}
    printed = driver.execute_cdp_cmd("Page.printToPDF", options)["data"]

    assert cut == []
    assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed))) == 2


def test_it_fits_a_phone_and_a_desk(browser, tmp_path):
    driver = opened(browser, tmp_path)

    for width in (390, 1280):
        look(driver, width=width)
        assert driver.execute_script(BROAD) == [], width
