"""The status pages in a real browser: on a phone, enlarged, in light and dark, by keyboard."""

import pytest

from monitor.config.pages import PagesSettings
from tests.rounds.scene import LIMITS, REFERENCE, Scene, settings
from tests.servers import free_port
from tests.service.pages.browsers import ENTER, TAB, chromium
from tests.service.pages.people import Place, served

pytestmark = pytest.mark.server

PAGES = ["/", "/monitors/mail", "/monitors/mail/rounds/2", "/monitors/mail/rounds/3"]
SIZES = {"a phone": 360, "400 %": 320, "a desk": 1280}
BROAD = """
return [...document.querySelectorAll("body *")]
  .filter((one) => !one.closest(".scroll") && !one.closest("svg"))
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => one.outerHTML.slice(0, 200));
"""
NAMELESS = """
return [...document.querySelectorAll("a, button, img, progress, [role=region]")]
  .filter((one) => !(one.innerText || one.alt || one.ariaLabel ||
    document.getElementById(one.getAttribute("aria-labelledby"))))
  .map((one) => one.outerHTML);
"""
SMALL = """
return [...document.querySelectorAll("p, td, th, dt, dd, li, a")]
  .filter((one) => parseFloat(getComputedStyle(one).fontSize) < 13)
  .map((one) => one.outerHTML.slice(0, 200));
"""


@pytest.fixture
def address(database):
    """Where the pages of a monitor with an alert and a round that waits are served."""
    scene = Scene(database, settings(limits=LIMITS, reference=REFERENCE))
    scene.play(1)
    scene.play(2, precision=0.1)
    scene.week(3)
    scene.run(3)
    links: list[str] = []
    where = PagesSettings(listen=f"127.0.0.1:{free_port()}")
    entered = {"name": "ada", "notified": lambda link, _: links.append(link)}
    with served(Place(scene).board(), where, **entered):
        yield links[0]


def resize(browser, width):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@pytest.mark.slow
def test_the_status_pages_fit_and_are_named_and_load_nothing_from_elsewhere(address):
    base = address.partition("/enter")[0]
    with chromium() as browser:
        browser.driver.get(address)
        browser.find("main button").click()
        browser.until(lambda: browser.has("main:not(:has(#name))"))
        met = {}
        for path in PAGES:
            for size, width in SIZES.items():
                resize(browser, width)
                browser.driver.get(base + path)
                for what, script in {"broad": BROAD, "nameless": NAMELESS, "small": SMALL}.items():
                    if found := browser.driver.execute_script(script):
                        met[path, size, what] = found
        browser.driver.get(f"{base}/monitors/mail")
        widths = [one.get_property("naturalWidth") for one in browser.all("img")]
        scrollable = len(browser.all(".scroll[tabindex='0']"))
        browser.driver.get(f"{base}/")
        outline = reach(browser, "mail").value_of_css_property("outline-width")
        browser.press(ENTER)
        browser.until(lambda: browser.driver.current_url.endswith("/monitors/mail"))
        asked = {url.partition("?")[0] for url in browser.requests()}
        complaints = browser.log()

    assert met == {}
    assert len(widths) == 2
    assert all(width > 0 for width in widths)
    assert scrollable >= 2, "what scrolls can be scrolled by keys"
    assert outline == "3px", "and where the keys are is seen"
    assert [url for url in asked if url.startswith("http") and not url.startswith(base)] == []
    assert complaints == []


def reach(browser, word):
    """Go on by keys until something with this text has the focus, and return it."""
    for _ in range(10):
        if (focused := browser.driver.switch_to.active_element).text == word:
            return focused
        browser.press(TAB)
    raise AssertionError(word)
