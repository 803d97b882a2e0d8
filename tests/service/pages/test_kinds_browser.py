"""Pictures, tables, HTML and links in a real browser, served by the real command."""

import json
import re

import pytest

from monitor.domain.shown import no_picture, picture
from tests.pictures import png
from tests.service.pages.browsers import ENTER, ESCAPE, chromium, listening
from tests.service.pages.hostile import HOSTILE, OUT
from tests.service.pages.test_browser import said, shop_of, show

pytestmark = pytest.mark.server

LONG = "A mail about a train. " * 300
LETTER = "<h1>Your trip</h1><p>See <a href='https://example.org'>the train</a></p>"
ALL_KINDS = {
    "picture": picture(png()),
    "subject": LONG,
    "body": {"kind": "html", "value": LETTER},
    "raw": {"kind": "json", "value": '{"to": {"city": "Brno"}, "days": [1, 2]}'},
    "customer": {"kind": "table", "value": [["country", "CZ"], ["amount", "12.50"]]},
    "url": {"kind": "link", "value": "https://example.org/a"},
    "broken": no_picture("no such file or directory", "a.png"),
    "nothing": "",
}


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


def shop_with(folder, *shown):
    """A folder with a round whose items show these, in the order of the page."""
    shop = shop_of(folder, labels=max(12, len(shown)))
    show(folder, [shown[place % len(shown)] for place in range(max(12, len(shown)))])
    return shop


def in_the_frame(browser):
    """What stands in the frame that is on the screen."""
    frame = browser.find("#item > :not([hidden]) iframe")
    browser.driver.switch_to.frame(frame)
    try:
        browser.until(lambda: browser.text("body") != "")
        return browser.text("body")
    finally:
        browser.driver.switch_to.default_content()


def on_screen(browser, selector):
    return browser.all(f"#item > :not([hidden]) {selector}")


def normal(browser):
    """The item on the screen as its HTML, without the line breaks between elements."""
    script = """
        const shown = document.querySelector("#item > :not([hidden])");
        const copy = shown.cloneNode(true);
        const walker = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT);
        const gaps = [];
        while (walker.nextNode()) {
          const at = walker.currentNode;
          if (!at.parentElement.closest(".text, h2, summary")) gaps.push(at);
        }
        gaps.forEach((gap) => gap.remove());
        return copy.innerHTML;
    """
    return browser.driver.execute_script(script)


def is_drawn(browser):
    """Whether the picture on the screen is there."""
    return browser.driver.execute_script(
        "const at = document.querySelector('#item > :not([hidden]) img');"
        "return at !== null && at.complete && at.naturalWidth === 40"
    )


@pytest.mark.slow
def test_all_kinds_show_alike_by_server_and_script_and_come_back_on_undo(folder, browser):
    with shop_with(folder, ALL_KINDS).running() as link:
        browser.enter(link).until(browser.is_ready)
        browser.until(lambda: is_drawn(browser))
        by_server = without_task(normal(browser), browser.task)
        first, letter = browser.answer("1"), in_the_frame(browser)
        browser.until(lambda: is_drawn(browser))
        by_script = without_task(normal(browser), browser.task)
        browser.press("u")
        browser.until(lambda: browser.task == first)
        undone = without_task(normal(browser), first)
        back = in_the_frame(browser)
        text = browser.text("#item")
        browser.in_view("#item > :not([hidden]) iframe").click()
        browser.until(lambda: browser.driver.switch_to.active_element.tag_name == "article")
        browser.answer("0")  # the keys stay with the answers
        browser.driver.execute_script(COPIES)
        browser.in_view("#item > :not([hidden]) .copy").click()
        browser.until(lambda: browser.text("#item > :not([hidden]) .copy") == "Copied")
        copied = browser.driver.execute_script("return window.copied")
        links = on_screen(browser, "a")
        browser.until(browser.is_sent)
        complaints = browser.log()

    assert by_server == by_script == undone
    assert letter == back == "Your trip\nSee the train"
    assert "to.city Brno" in text
    assert "country CZ" in text
    assert "This picture cannot be shown: a.png: no such file or directory." in text
    assert "Empty." in text
    assert [answer for *_, answer in said(folder)] == ["1", None, "0"]
    assert (copied, links) == ("https://example.org/a", [])
    assert complaints == []


COPIES = "navigator.clipboard.writeText = async (text) => { window.copied = text; };"


def without_task(html, task):
    """The HTML of an item without its key, and without what the driver writes into frames."""
    return re.sub(r' cd_frame_id_="\w*"', "", html.replace(task, "TASK"))


@pytest.mark.slow
def test_what_is_looked_for_is_marked_in_a_long_text_and_a_broken_picture_says_so(folder, browser):
    with shop_with(folder, {"subject": LONG, "picture": picture(png()[:20])}).running() as link:
        browser.enter(link).until(browser.is_ready)
        browser.until(lambda: "it is not whole, or gone" in browser.text("#item"))
        whole = browser.driver.execute_script("return document.querySelector('.text').textContent")
        browser.press("/")
        browser.press("TRAIN")
        found = browser.text("#found")
        browser.press(ENTER)
        at = browser.text("#found")
        marks = len(on_screen(browser, "mark"))
        browser.press(ESCAPE)
        browser.answer("1")
        next_marks = len(on_screen(browser, "mark"))
        browser.find("#term").clear()
        kept = browser.driver.execute_script(
            "return document.querySelector('#item > :not([hidden]) .text').textContent"
        )
        browser.until(lambda: "it is not whole, or gone" in browser.text("#item"))

    assert (found, at) == (f"{LONG.count('train')} found", f"1 of {LONG.count('train')}")
    assert marks == next_marks == LONG.count("train")
    assert kept == whole


@pytest.mark.slow
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.soak)])
def test_hostile_payloads_of_all_kinds_run_nothing_and_ask_for_nothing(folder, browser, every):
    with listening() as (out, callers):
        texts = [text.replace(OUT, out) for text in HOSTILE]
        items = [
            of_all_kinds(texts[place]) | as_plain_text(texts[place : place + every])
            for place in range(0, len(texts), every)
        ]
        shop = shop_with(folder, *items)
        ran: list[str] = []
        seen = 0
        with shop.running() as link:
            browser.enter(link).until(browser.is_ready)
            base = link.partition("/enter")[0]
            while browser.task is not None:
                ran += made(browser)
                ran += led_on(browser)
                browser.driver.get(f"{base}/label?task={browser.task}")
                browser.until(browser.is_ready)
                ran += made(browser)
                ran += led_on(browser)
                browser.answer("1")
                seen += 1
        browser.driver.get("about:blank")

    assert seen == len(items)
    assert ran == []
    assert callers == []


def as_plain_text(texts):
    return {
        name: text for place, text in enumerate(texts) for name in (f"text {place}", text[:200])
    }


def of_all_kinds(text):
    return {
        "html": {"kind": "html", "value": text},
        "json": {"kind": "json", "value": json.dumps({text: [text, {text: None}]})},
        "table": {"kind": "table", "value": [[text, text]]},
        "url": {"kind": "link", "value": text},
        "picture": no_picture(text, text),
    }


def made(browser):
    """Elements that texts of strangers made on the page itself, and whether one ran."""
    script = """
        const made = [...document.querySelectorAll("#item *")].map((one) => one.localName);
        const known = new Set(["section", "h2", "div", "details", "summary", "p", "table", "tbody",
          "tr", "th", "td", "iframe", "button"]);
        return [window.ran ? ["ran"] : [], made.filter((name) => !known.has(name))].flat();
    """
    return browser.driver.execute_script(script)


def led_on(browser):
    """Click all that stands in the frame, and say what ran there, or where it went."""
    frame = browser.find("#item > :not([hidden]) iframe")
    for one in browser.all("#item > :not([hidden]) iframe"):
        browser.driver.execute_script("arguments[0].scrollIntoView()", one)
        one.click()
    browser.driver.switch_to.frame(frame)
    try:
        leading = browser.all("a, area, base, link, meta[http-equiv]")
        ran = browser.driver.execute_script("return window.ran")
        return [one.tag_name for one in leading] + (["ran in the frame"] if ran else [])
    finally:
        browser.driver.switch_to.default_content()
