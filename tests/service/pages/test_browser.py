"""The labeling page in a real browser, served by the real command."""

import os
from contextlib import contextmanager

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
from tests.small_config import configure, rows, stored, write_predictions

pytestmark = pytest.mark.server

ANSWERS = {"1": "1", "y": "1", "0": "0", "n": "0", "?": "cannot tell"}


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def shop(folder):
    """A folder with a round of 12 items on the page."""
    return shop_of(folder, labels=12)


SHOWN = {
    "subject": "a <b> text\n\twith lines",
    "body": "word " * 1800,
    "address": "x" * 500,
    "empty": "",
}


class Visits:
    """A page that many people come to, one after the other."""

    def __init__(self, shop, link):
        self.shop, self.link = shop, link

    def enter(self, browser, name):
        browser.enter(self.link, name)
        self.link = self.shop.process.said.readline().split()[-1]

    def said(self, name):
        """What somebody said, in its order: task and answer."""
        found = said(self.shop.folder)
        return [(task, answer) for task, annotator, answer in found if annotator == name]


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    write_predictions(folder)
    shop = shop_of(folder, labels=120)
    show(folder, [SHOWN] * 120)
    with shop.running() as link:
        yield Visits(shop, link)


def shop_of(folder, *, labels):
    configure(folder)
    path = folder / "config.yaml"
    asked = 'kind: page, question: "Is it about travel?", guideline: guideline.md'
    asked = f"labeling: {{{asked}}}"
    text = path.read_text().replace("labeling: {kind: files}", asked)
    path.write_text(text.replace("max_labels: 20", f"max_labels: {labels}"))
    (folder / "guideline.md").write_text("**Yes**: somebody travels.")
    run_once(folder)
    return LabelCommand(folder)


def run_once(folder):
    application = build(load_config(folder / "config.yaml"))
    schema.ready(application.database)
    for context in application.monitors:
        run.run(context)
    application.database.close()


def said(folder, columns="task_key, annotator, answer"):
    """All that stands in the store, in its order."""
    return stored(folder, f"select {columns} from page_answers order by id")


def labels(folder):
    """What the rounds have got, by task."""
    found = stored(folder, "select external_id, answer from label_events order by at, id")
    return {of.partition("/")[0]: answer for of, answer in found}


def finish(browser, given, keys="1y0n?"):
    """Answer by keys until nothing is left."""
    while browser.task is not None:
        browser.until(browser.is_ready)
        key = keys[len(given) % len(keys)]
        given[browser.answer(key)] = ANSWERS[key]
    return given


BY_A_PROXY_FIRST = """
    const statuses = [200, 404, 421, 429], real = window.fetch;
    window.fetch = (path, options) => path === "/label/answer" && statuses.length > 0
        ? Promise.resolve(new Response("<h1>Wait</h1>", { status: statuses.shift() }))
        : real(path, options);
"""
REFUSED = "window.fetch = async () => new Response('not from here', { status: 403 })"


def test_a_round_is_labeled_by_keyboard_through_undos_a_reload_and_lost_answers(shop, browser):
    given: dict[str, str] = {}
    with shop.running() as link:
        browser.enter(link).until(browser.is_ready)
        browser.driver.execute_script(BY_A_PROXY_FIRST)
        for _ in range(3):
            given[browser.answer("1")] = "1"
        browser.until(browser.is_sent)
        sent = dict(said(shop.folder, "task_key, answer"))
        before = browser.task
        browser.press("u")
        browser.until(lambda: browser.task != before)
        taken_back = browser.task
        browser.press("g")
        guideline = browser.text("#guideline")
        browser.until(browser.is_sent)
        browser.answer("0")
        after = browser.task
        browser.until(browser.is_sent)
        browser.driver.refresh()
        browser.until(browser.is_ready)
        reloaded = browser.task
        browser.press("u")
        browser.until(lambda: browser.task == taken_back)
        browser.until(browser.is_ready)
        given[browser.answer("0")] = "0"
        browser.until(browser.is_sent)
        browser.driver.execute_script(REFUSED)
        refused = browser.task
        browser.press("1")
        browser.until(lambda: browser.text("#notice") == "not from here")
        is_kept = not browser.is_sent()
        told = {task for task, *_ in said(shop.folder)}
        browser.driver.refresh()
        browser.until(browser.is_sent)
        browser.until(browser.is_ready)
        given[refused] = "1"
        finish(browser, given)
        done = browser.text("main")
        complaints = browser.log()
    run_once(shop.folder)

    assert (len(sent), set(sent.values())) == (3, {"1"})
    assert (is_kept, refused in told) == (True, False)
    assert reloaded == after == before
    assert [answer for task, _, answer in said(shop.folder) if task == taken_back] == [
        *("1", None, "0", None, "0")
    ]
    assert len(given) == 12
    assert len(said(shop.folder)) == 16
    assert labels(shop.folder) == given
    assert "somebody travels" in guideline
    assert "Nothing left to label" in done
    assert complaints == []


def test_keys_can_be_switched_off_and_stay_so(visits, browser):
    visits.enter(browser, "bob")
    browser.until(browser.is_ready)
    browser.in_view("#keys").click()
    browser.driver.refresh()
    browser.until(browser.is_ready)
    before = browser.task

    browser.find("body").send_keys("1")
    browser.in_view("#answers button").click()  # and a button goes on working
    browser.until(lambda: browser.task != before)
    browser.until(browser.is_sent)
    browser.in_view("#keys").click()

    assert [task for task, _ in visits.said("bob")] == [before]


@contextmanager
def screen(browser, width, height, *, phone=False):
    """Let the browser have a screen of this size, and a finger on it if it is a phone's."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": phone})
    try:
        yield
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


FOOTER = """
    const footer = document.querySelector("footer");
    if (getComputedStyle(footer).position !== "sticky") return 0;
    return footer.getBoundingClientRect().height / innerHeight;
"""
WIDTH = "return document.documentElement.scrollWidth"


def test_the_page_works_by_touch_on_a_phone_and_cuts_and_covers_nothing(visits, browser):
    """320 by 256 is a screen of 1280 by 1024 at 400 %, 500 by 380 one of 1000 by 760 at 200 %."""
    visits.enter(browser, "phoebe")
    browser.until(browser.is_ready)
    for width, height in ((320, 256), (500, 380), (390, 780)):
        with screen(browser, width, height):
            assert browser.driver.execute_script(WIDTH) <= width
            assert browser.driver.execute_script(FOOTER) < 0.4, "what is read has room"
    given: dict[str | None, str] = {}
    with screen(browser, 390, 780, phone=True):
        for value in ("1", "0", "cannot tell"):
            button = browser.in_view(f"#answers button[value='{value}']")
            assert button.rect["height"] >= 44
            before = browser.task
            tap(browser, button)
            browser.until(lambda before=before: browser.task != before)
            given[before] = value
        wide = browser.driver.execute_script(WIDTH)
        twice = browser.task
        ActionChains(browser.driver).double_click(browser.in_view("#answers button")).perform()
        browser.until(lambda: browser.task != twice)
        browser.until(browser.is_sent)

    assert dict(visits.said("phoebe")) == {**given, twice: "1"}
    assert wide <= 390, "nothing has to be scrolled sideways"


def test_who_does_not_see_the_page_is_told_what_stands_on_it(visits, browser):
    """Names and roles as the browser gives them to a screen reader."""
    browser.driver.get(visits.link)
    field = browser.find("#name")
    named = (field.accessible_name, field.aria_role)
    visits.enter(browser, "ray")
    browser.until(browser.is_ready)
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

    assert len(given) == 12
    assert len(said(shop.folder)) == 12
    assert labels(shop.folder) == given


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
