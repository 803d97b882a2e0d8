"""The report in a real browser: it fits, in light and dark and print, and nobody is asked."""

import pytest

from monitor.report.html import report_html
from tests.report.test_html import whole
from tests.service.pages.browsers import chromium, listening
from tests.tracking.reports import segments

pytestmark = pytest.mark.server

BROAD = """
return [...document.querySelectorAll("body *")]
  .filter((one) => !one.closest(".scroll") && !one.closest("svg"))
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => one.outerHTML.slice(0, 200));
"""
SMALLEST = """
return Math.min(...[...document.querySelectorAll("svg")]
  .filter((one) => one.checkVisibility() && !one.parentElement.closest("svg"))
  .map((one) => one.getBoundingClientRect().width / one.viewBox.baseVal.width));
"""
HIGHEST = """
return Math.max(...[...document.querySelectorAll(".scroll tr")]
  .map((one) => one.getBoundingClientRect().height));
"""
GROUND = "return getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


def opened(browser, folder, report):
    path = folder / "report.html"
    path.write_bytes(report_html(report))
    browser.driver.get("about:blank")
    browser.requests()
    browser.driver.get(path.as_uri())
    return browser.driver


def look(driver, *, width, scheme="light", media="screen"):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def test_it_fits_a_phone_and_a_desk_with_words_that_can_be_read(browser, tmp_path):
    driver = opened(browser, tmp_path, whole())

    for width in (360, 768, 1280, 1600):
        look(driver, width=width)
        assert driver.execute_script(BROAD) == [], width
        assert driver.execute_script(SMALLEST) > 0.95, width  # of figures whose words have 8 points
        assert driver.execute_script(HIGHEST) < 100, width  # else a column is a word wide


def test_it_is_dark_where_that_is_asked_for_and_light_on_paper(browser, tmp_path):
    driver = opened(browser, tmp_path, whole())
    grounds = {}

    for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
        look(driver, width=1280, scheme=scheme, media=media)
        grounds[scheme, media] = driver.execute_script(GROUND)

    assert grounds == {
        ("light", "screen"): "rgb(255, 255, 255)",
        ("dark", "screen"): "rgb(26, 26, 26)",
        ("dark", "print"): "rgb(255, 255, 255)",
    }


def test_nobody_is_asked_for_anything_and_nothing_runs_whatever_the_data_say(browser, tmp_path):
    with listening() as (out, came):
        texts = [
            f"<script>window.ran=1;fetch('{out}')</script>",
            f"<img src={out} onerror=window.ran=1>",
            f"</style></title><link rel=stylesheet href={out}><meta http-equiv=refresh "
            f"content='0;url={out}'>",
            f"<svg><image href={out} /><use href={out} /></svg><iframe src={out}></iframe>",
        ]
        hostile = whole(
            model=texts[0], concerns=texts, segments=segments(tuple(texts), tuple(texts))
        )
        driver = opened(browser, tmp_path, hostile)
        look(driver, width=1280)
        ran = driver.execute_script("return window.ran")
        asked = [one for one in browser.requests() if one.startswith("http")]

    assert (ran, asked, came) == (None, [], [])
    assert texts[0] in browser.text("main")


def test_even_a_script_that_were_in_the_file_would_not_run(browser, tmp_path):
    page = report_html(whole()).replace(b"</main>", b"<script>window.ran=1</script></main>")
    path = tmp_path / "changed.html"
    path.write_bytes(page)

    browser.driver.get(path.as_uri())

    assert browser.driver.execute_script("return window.ran") is None
    assert any("Content Security Policy" in row["message"] for row in browser.log())
