"""The labeling page in a real browser, served by the real command."""

from __future__ import annotations

import os

import pytest

if os.environ.get("CI") != "true":
    pytest.importorskip("selenium", reason="selenium is not installed (requirements/dev.lock)")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions import interaction
from selenium.webdriver.common.actions.pointer_input import PointerInput
from sqlalchemy import update

from monitor.config.load import load_config
from monitor.rounds import run
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.pages import page_store
from monitor.storage.pages.page_tables import page_tasks
from monitor.wiring import build
from tests.service.pages.browsers import LabelCommand, chromium
from tests.service.pages.hostile import HOSTILE, OUT
from tests.small_config import configure, rows

pytestmark = pytest.mark.server

ANSWERS = {"1": "1", "y": "1", "0": "0", "n": "0", "?": "cannot tell"}


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def shop(folder):
    """A folder with a round of fifty items on the page."""
    return shop_of(folder, labels=50)


@pytest.fixture
def small_shop(folder):
    return shop_of(folder, labels=12)


def shop_of(folder, *, labels, more="repeats: 0"):
    configure(folder)
    path = folder / "config.yaml"
    asked = 'kind: page, question: "Is it about travel?", guideline: guideline.md'
    asked = f"labeling: {{{asked}, {more}}}"
    text = path.read_text().replace("labeling: {kind: files}", asked)
    path.write_text(text.replace("max_labels: 20", f"max_labels: {labels}"))
    (folder / "guideline.md").write_text("**Yes**: somebody travels.")
    run_once(folder)
    return LabelCommand(folder)


def run_once(folder):
    application = build(load_config(folder / "config.yaml"))
    schema.ready(application.database)
    run.run(application.context("mail"))
    application.database.close()


def asked_of(folder, query):
    database = Database(f"sqlite:///{folder}/monitor.db")
    try:
        return rows(database, query)
    finally:
        database.close()


def said(folder):
    """All that stands in the store, in its order: task, annotator, answer."""
    return asked_of(folder, "select task_key, annotator, answer from page_answers order by id")


def labels(folder):
    """What the rounds have got, by task."""
    found = asked_of(folder, "select external_id, answer from label_events order by at, id")
    return {of.partition("/")[0]: answer for of, answer in found}


def finish(browser, given, keys="1y0n?"):
    """Answer by keys until nothing is left."""
    while browser.task is not None:
        browser.until(browser.is_ready)
        key = keys[len(given) % len(keys)]
        given[browser.answer(key)] = ANSWERS[key]
    return given


def test_a_refusal_in_plain_words_is_told_and_the_answer_kept(small_shop, browser):
    refuse = "window.fetch = async () => new Response('not from here', { status: 403 })"
    with small_shop.running() as link:
        browser.enter(link).until(browser.is_ready)
        browser.driver.execute_script(refuse)

        browser.press("1")
        browser.until(lambda: browser.text("#notice") == "not from here")

        assert not browser.is_sent()


@pytest.mark.parametrize("status", [200, 404, 421, 429])
def test_an_answer_is_sent_again_where_something_before_the_page_answered(
    small_shop, browser, status
):
    first_by_a_proxy = """
        const [status] = arguments, real = window.fetch;
        let asked = 0;
        window.fetch = (path, options) => path === "/label/answer" && asked++ === 0
            ? Promise.resolve(new Response("<h1>Wait</h1>", { status }))
            : real(path, options);
    """
    with small_shop.running() as link:
        browser.enter(link).until(browser.is_ready)
        browser.driver.execute_script(first_by_a_proxy, status)

        answered = browser.answer("1")
        browser.until(browser.is_sent)

    assert [(task, answer) for task, _, answer in said(small_shop.folder)] == [(answered, "1")]


def test_fifty_items_are_labeled_by_keyboard_with_an_undo_and_a_reload_in_the_middle(shop, browser):
    given: dict[str, str] = {}
    with shop.running() as link:
        browser.enter(link).until(browser.is_ready)
        for _ in range(20):
            given[browser.answer("1")] = "1"
        before = browser.task
        browser.press("u")
        browser.until(lambda: browser.task != before)
        taken_back = browser.task
        browser.press("g")
        guideline = browser.text("#guideline")
        browser.until(browser.is_sent)
        given[browser.answer("0")] = "0"
        after = browser.task
        browser.until(browser.is_sent)
        browser.driver.refresh()
        browser.until(browser.is_ready)
        reloaded = browser.task
        finish(browser, given)
        done = browser.text("main")
        complaints = browser.log()
    run_once(shop.folder)

    assert reloaded == after == before
    assert [answer for task, _, answer in said(shop.folder) if task == taken_back] == [
        "1",
        None,
        "0",
    ]
    assert len(given) == 50
    assert len(said(shop.folder)) == 52
    assert labels(shop.folder) == given
    assert "somebody travels" in guideline
    assert "Nothing left to label" in done
    assert complaints == []


@pytest.mark.slow
def test_an_answer_is_undone_after_a_reload_too(small_shop, browser):
    with small_shop.running() as link:
        browser.enter(link).until(browser.is_ready)
        first = browser.answer("1")
        browser.until(browser.is_sent)
        browser.driver.refresh()
        browser.until(browser.is_ready)

        browser.press("u")

        browser.until(lambda: browser.task == first)
    assert [answer for *_, answer in said(small_shop.folder)] == ["1", None]


@pytest.mark.slow
def test_what_the_script_shows_is_what_the_server_shows(small_shop, browser):
    shown = {"subject": "a <b> text\n\twith lines", "body": "x" * 9000, "empty": ""}
    show(small_shop.folder, [shown] * 12)
    with small_shop.running() as link:
        browser.enter(link).until(browser.is_ready)
        by_server = normal(browser)
        browser.answer("1")
        by_script = normal(browser)

    assert by_script == by_server
    assert "Show all 9,000 characters" in by_server


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


@pytest.mark.slow
def test_keys_can_be_switched_off_and_stay_so(small_shop, browser):
    with small_shop.running() as link:
        browser.enter(link).until(browser.is_ready)
        browser.find("#keys").click()
        browser.driver.refresh()
        browser.until(browser.is_ready)
        before = browser.task

        browser.find("body").send_keys("1")
        browser.find("#answers button").click()  # and a button goes on working
        browser.until(lambda: browser.task != before)
        browser.until(browser.is_sent)
        browser.find("#keys").click()

    assert [task for task, *_ in said(small_shop.folder)] == [before]


@pytest.mark.slow
def test_the_page_works_by_touch_on_a_phone_and_a_double_tap_answers_once(small_shop, browser):
    phone = {"width": 390, "height": 780, "deviceScaleFactor": 1, "mobile": True}
    with small_shop.running() as link:
        browser.enter(link).until(browser.is_ready)
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
        try:
            given: dict[str | None, str] = {}
            for value in ("1", "0", "cannot tell"):
                button = browser.find(f"#answers button[value='{value}']")
                assert button.rect["height"] >= 44
                before = browser.task
                tap(browser, button)
                browser.until(lambda before=before: browser.task != before)
                given[before] = value
            wide = browser.driver.execute_script("return document.documentElement.scrollWidth")
            twice = browser.task
            ActionChains(browser.driver).double_click(browser.find("#answers button")).perform()
            browser.until(lambda: browser.task != twice)
            browser.until(browser.is_sent)
        finally:
            browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
            browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})

    assert {task: answer for task, _, answer in said(small_shop.folder)} == {**given, twice: "1"}
    assert wide <= 390, "nothing has to be scrolled sideways"


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(320, 256), (500, 380), (390, 780)])
def test_nothing_is_cut_or_covered_where_there_is_little_room(small_shop, browser, width, height):
    """320 by 256 is a screen of 1280 by 1024 at 400 %, 500 by 380 one of 1000 by 760 at 200 %."""
    show(small_shop.folder, [{"subject": "word " * 300, "address": "x" * 500}] * 12)
    room = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    with small_shop.running() as link:
        browser.enter(link).until(browser.is_ready)
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", room)
        try:
            wide = browser.driver.execute_script("return document.documentElement.scrollWidth")
            share = browser.driver.execute_script(
                "const footer = document.querySelector('footer');"
                "if (getComputedStyle(footer).position !== 'sticky') return 0;"
                "return footer.getBoundingClientRect().height / innerHeight;"
            )
        finally:
            browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    assert wide <= width
    assert share < 0.4, "what stays on the screen leaves room for what is read"


@pytest.mark.slow
def test_who_does_not_see_the_page_is_told_what_stands_on_it(small_shop, browser):
    """Names and roles as the browser gives them to a screen reader."""
    with small_shop.running() as link:
        browser.driver.get(link)
        field = browser.find("#name")
        named = (field.accessible_name, field.aria_role)
        browser.enter(link).until(browser.is_ready)
        buttons = [one.accessible_name for one in browser.all("button")]
        browser.answer("1")
        focused = browser.driver.switch_to.active_element
        reached = (focused.aria_role, focused.accessible_name)
        live = browser.find("#progress").aria_role
        language = browser.find("html").get_attribute("lang")
        headings = [one.text for one in browser.all("h1")]

    assert named == ("Your name", "textbox")
    assert [name.removeprefix("\u2713").strip() for name in buttons] == [
        "Leave",
        "Yes 1",
        "No 0",
        "Cannot tell ?",
        "Undo the last answer u",
        "Answer by keys",
    ]
    assert reached == ("article", "The item"), "and what stands in it is read out"
    assert (live, language, headings) == ("status", "en", ["Is it about travel?"])


def tap(browser, element):
    chain = ActionChains(browser.driver)
    chain.w3c_actions.pointer_action.source = finger = PointerInput(
        interaction.POINTER_TOUCH, "finger"
    )
    chain.w3c_actions.devices = [finger]
    chain.w3c_actions.pointer_action.move_to(element).pointer_down().pointer_up()
    chain.w3c_actions.perform()


@pytest.mark.slow
def test_the_page_is_a_plain_form_where_scripts_are_off(small_shop):
    given: dict[str | None, str] = {}
    with small_shop.running() as link, chromium(javascript=False) as browser:
        browser.enter(link)
        assert not browser.is_ready()
        while browser.task is not None:
            before = browser.task
            value = "01"[len(given) % 2]
            browser.find(f"#answers button[value='{value}']").click()
            browser.until(lambda before=before: browser.task != before)
            given[before] = value
        browser.find("#undo button").click()
        browser.until(lambda: browser.task is not None)
        again = browser.task
        browser.find("#answers button[value='cannot tell']").click()
        browser.until(lambda: browser.task is None)
    run_once(small_shop.folder)

    assert len(given) == 12
    assert labels(small_shop.folder) == {**given, again: "cannot tell"}


@pytest.mark.slow
def test_two_people_at_once_label_each_item_once(shop, browser):
    given: dict[str, dict[str, str]] = {"ada": {}, "bob": {}}
    with shop.running() as link, chromium() as other:
        browser.enter(link, "ada")
        other.enter(shop.process.said.readline().split()[-1], "bob")
        people = {"ada": browser, "bob": other}
        while any(one.task for one in people.values()):
            for name, one in people.items():
                if one.task:
                    one.until(one.is_ready)
                    key = "1" if name == "ada" else "0"
                    given[name][one.answer(key)] = key

    assert sorted(set(given["ada"]) & set(given["bob"])) == []
    assert {(task, name): answer for task, name, answer in said(shop.folder)} == {
        (task, name): answer for name, of in given.items() for task, answer in of.items()
    }
    assert len(said(shop.folder)) == 50


@pytest.mark.slow
def test_repeats_and_gold_items_come_among_the_others_and_what_is_left_does_not_tell(
    folder, browser
):
    (folder / "gold.csv").write_text("truth,subject\n1,a flight\n0,a bill\n")
    more = "repeats: 0.5, gold: gold.csv, gold_share: 0.1, gold_feedback: true"
    shop = shop_of(folder, labels=50, more=more)
    left: list[int] = []
    answered = []
    with shop.running() as link:
        browser.enter(link).until(browser.is_ready)
        while browser.task is not None:
            browser.until(browser.is_ready)
            browser.until(lambda: not left or left_by(browser) < left[-1])
            left.append(left_by(browser))
            answered.append(browser.answer("?"))
            if len(answered) == 30:
                browser.driver.refresh()
        told = browser.driver.page_source
    run_once(shop.folder)

    asked = asked_of(folder, "select key, task_key from page_controls")
    repeats = [key for key, task in asked if task is not None]
    assert len(asked) - len(repeats) == 2
    assert len(repeats) > 3
    assert {key for key, _ in asked} < set(answered)
    assert left == list(range(50 + len(asked), 0, -1))
    assert "Nothing left to label" in told
    assert len(labels(folder)) == 50


def left_by(browser):
    """How many are to go, by what the page says."""
    return int(browser.text("#progress").partition(" ")[0])


@pytest.mark.slow
def test_a_server_killed_in_the_middle_loses_nothing_and_doubles_nothing(shop, browser):
    given: dict[str, str] = {}
    with shop.running() as link:
        browser.enter(link).until(browser.is_ready)
        for _ in range(7):
            given[browser.answer("1")] = "1"
        browser.until(browser.has_fetched)
        shop.process.kill()
        for _ in range(3):
            given[browser.answer("0")] = "0"
        browser.until(lambda: "The server does not answer" in browser.text("#notice"))
    with shop.running():
        browser.until(browser.is_sent)
        browser.until(lambda: not browser.text("#notice"))
        finish(browser, given)
    run_once(shop.folder)

    assert len(given) == 50
    assert len(said(shop.folder)) == 50
    assert labels(shop.folder) == given


@pytest.mark.slow
def test_answers_that_waited_for_a_server_survive_a_reload(shop, browser):
    with shop.running() as link:
        browser.enter(link).until(browser.is_ready)
        browser.until(browser.has_fetched)
        offline(browser, yes=True)
        waited = [browser.answer("1") for _ in range(4)]
        browser.until(lambda: "Answers kept in this tab: 4" in browser.text("#notice"))
        offline(browser, yes=False)
        browser.driver.refresh()
        browser.until(browser.is_sent)
        browser.until(browser.is_ready)
        shown = browser.task

    assert [task for task, *_ in said(shop.folder)] == waited
    assert shown not in waited


def offline(browser, *, yes):
    browser.driver.execute_cdp_cmd("Network.enable", {})
    conditions = {"offline": yes, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)


def show(folder, shown):
    """Let the tasks of the page show these texts, in their order."""
    database = Database(f"sqlite:///{folder}/monitor.db")
    with database.write() as connection:
        names = [name for (name,) in rows(database, "select name from page_rounds")]
        tasks = page_store.read_page_tasks(connection, names)
        for task, texts in zip(tasks, shown, strict=False):
            where = page_tasks.c.key == task.key
            connection.execute(update(page_tasks).where(where).values(shown=texts))
    database.close()


@pytest.mark.slow
def test_no_text_of_a_stranger_runs_a_script_or_asks_for_an_address(folder, browser):
    shop = shop_of(folder, labels=len(HOSTILE))
    show(folder, [{"subject": text, text[:200]: "b"} for text in HOSTILE])
    ran: list[str] = []
    seen = 0
    with shop.running() as link:
        browser.enter(link).until(browser.is_ready)
        browser.requests()
        base = link.partition("/enter")[0]
        while browser.task is not None:
            browser.until(browser.is_ready)
            ran += is_led_on(browser)  # as the script shows it
            browser.driver.get(f"{base}/label?task={browser.task}")
            browser.until(browser.is_ready)
            ran += is_led_on(browser)  # as the server shows it
            browser.answer("1")
            seen += 1
        asked = browser.requests()

    assert seen == len(HOSTILE) > 50
    assert ran == []
    assert [url for url in asked if not url.startswith(f"{base}/")] == []
    assert not any(OUT in url for url in asked)


def is_led_on(browser):
    """Whether a text became more than text: it ran, or made an element."""
    script = """
        const made = [...document.querySelectorAll("#item *")].map((one) => one.localName);
        const known = new Set(["section", "h2", "div", "details", "summary"]);
        return [window.ran ? ["ran"] : [], made.filter((name) => !known.has(name))].flat();
    """
    return browser.driver.execute_script(script)
