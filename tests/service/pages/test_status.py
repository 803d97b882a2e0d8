"""The status pages: the same as `pr-monitor status`, `rounds` and `show`, for who may see it."""

import re
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

import pytest
from sqlalchemy import update

from monitor.cli.views.printing import echo_document
from monitor.cli.views.rounds_page import page_document
from monitor.cli.views.status_page import overview_lines
from monitor.domain.alerting import AlertState
from monitor.domain.model import Answer
from monitor.domain.people import Role
from monitor.domain.settings import MonitorSettings
from monitor.domain.visible import clean
from monitor.presentation.classes import block_lines
from monitor.presentation.limit_comparisons import headline_text
from monitor.rounds.delivery import deliver
from monitor.rounds.round_page import read_page
from monitor.service.pages.sessions import WebSession
from monitor.service.pages.status.addresses import Board, first_page
from monitor.storage.results import alert_store
from monitor.storage.tables import effects, round_events, rounds
from tests.rounds.class_block import ClassBlock
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, REFERENCE, Scene, overview, settings
from tests.rounds.sinks import Sink
from tests.service.pages.people import Person, Place, Reader

REPORT = "/monitors/mail/rounds/2/report"
ALL = ["/", "/monitors/mail", "/monitors/mail/rounds/1", "/monitors/mail/precision.svg"]
HOSTILE = "</p><script>alert(1)</script><img src=x onerror=alert(1)>\u202egnp\x1b[31m"


@pytest.fixture
def scene(database):
    return Scene(database, settings(limits=LIMITS, reference=REFERENCE))


@played
def alarmed(scene):
    """A monitor with an open alert, whose notice is in the log, and a round that waits."""
    scene.play(1)
    scene.play(2, precision=0.1)
    scene.draw(3)
    scene.label(0.4)
    deliver(scene.database, {"log": Sink()}, lambda: scene.now)
    return scene


def visitor(scene, **more):
    return Person(Place(scene, **more).person("ada").client)


def shown(scene, path, **more):
    return visitor(scene, **more).get(path)


def words(text):
    return " ".join(text.split())


def cells(line):
    """Parts of a printed line; those of a table stand two spaces apart."""
    return [words(part) for part in re.split(r"\s{2,}", line.strip()) if part]


def nothing(_):
    pass


def some_answers(scene):
    scene.week(1)
    scene.run(1)
    scene.answer(0.25)
    scene.run()
    scene.now += timedelta(days=4, hours=23)


def no_estimate_and_skipped(scene):
    scene.week(1)
    scene.run(1)
    scene.now += timedelta(days=5)
    scene.run()
    scene.week(5)
    scene.run(5)


def nothing_to_find_and_a_dead_letter(scene):
    scene.settings = settings()
    scene.week(1)
    scene.run(1)
    scene.truth = dict.fromkeys(scene.truth, Answer.NEGATIVE)
    scene.answer()
    scene.run()
    scene.execute(update(effects).values(status="dead", tries=4, last_error="it is down"))


STORIES = {
    nothing: "stale",
    some_answers: "learning",
    no_estimate_and_skipped: "stale",
    nothing_to_find_and_a_dead_letter: "stale",
}


@pytest.mark.parametrize(("play", "state"), STORIES.items())
def test_the_pages_say_what_status_and_show_say(scene, play, state, capsys):
    play(scene)
    assert_pages_say_what_commands_say(scene, state, capsys)


def test_the_pages_of_an_alert_say_what_status_and_show_say(alarmed, capsys):
    assert_pages_say_what_commands_say(alarmed, "alert", capsys)


def assert_pages_say_what_commands_say(scene, state, capsys):
    monitor = MonitorSettings(name=scene.name, round=scene.settings)
    standing = overview(scene.database, monitor, scene.now)

    echo_document(overview_lines(standing))
    status = capsys.readouterr().out.splitlines()
    ada = visitor(scene)
    one = ada.get("/monitors/mail").page.text
    card = ada.get("/").page.text

    assert standing.status == state
    assert f"1 monitor: 1 {state}" in card
    for page in (one, card):
        assert words(headline_text(standing.status, standing.limits)) in page
        for sentence in [*standing.problems, *standing.concerns]:
            assert words(sentence) in page
    assert [part for line in status[1:] for part in cells(line) if part not in one] == []
    for number in rounds_of(scene):
        echo_document(page_document(scene.read(read_page, scene.name, number, None)))
        printed = capsys.readouterr().out.splitlines()
        page = ada.get(f"/monitors/mail/rounds/{number}").page.text
        said = [part for line in printed if not line.startswith("--") for part in cells(line)]
        assert [part for part in said if part not in page] == [], number


def test_the_pages_of_classes_say_what_commands_say_and_names_are_text(database, monkeypatch):
    block = ClassBlock(database, classes=("travel", "finance", HOSTILE.replace("\x1b[31m", "")))
    block.week()
    block.play()
    monitors = [scene.context.settings for scene in block.monitors.values()]
    monkeypatch.setattr(Place, "settings", lambda _: monitors)
    said = [words(clean(line)) for line in block_lines(block.overview)]

    for path in ("/", "/monitors/mail-travel/rounds/1"):
        person = shown(block["travel"], path)
        text = words(person.page.text)

        assert len(said) >= 5
        assert [line for line in said if line not in text] == []
        assert "<script>alert" not in person.response.text
        assert "\u202e" not in person.response.text


def rounds_of(scene):
    return [row["number"] for row in scene.rows("select number from rounds order by slot")]


def test_a_config_without_a_monitor_says_so(scene, monkeypatch):
    monkeypatch.setattr(Place, "settings", lambda _: [])

    assert "0 monitors" in shown(scene, "/").page.text
    assert "The config has no monitor." in shown(scene, "/").page.text


def test_a_monitor_that_the_config_has_no_more_is_told_but_has_no_page(alarmed):
    alarmed.name = "mail-2"
    ada = visitor(alarmed)

    first = ada.get("/").page.text

    assert "warning: mail is in the store but not in the config (renamed or removed?)" in first
    assert ada.get("/monitors/mail").response.status_code == 404
    assert "The config has no such monitor." in ada.page.text


def test_nothing_is_shown_to_who_did_not_come_in(alarmed):
    for path in [*ALL, REPORT]:
        answer = Place(alarmed).client().get(path)

        assert answer.status_code == 401
        assert "mail" not in answer.text


def test_a_labeler_is_led_to_the_labeling_page_and_sees_nothing_else(alarmed, as_role):
    ada = visitor(alarmed)
    as_role("labeler")

    pages = {path: ada.client.get(path) for path in [*ALL, REPORT]}

    assert str(pages["/"].url).endswith("/label")
    assert [page.status_code for page in pages.values()] == [200, *[403] * 4]
    assert "your role here is labeler" in pages[ALL[1]].text
    told = [Reader(page.text).text for page in pages.values()]
    assert [text for text in told if re.search(r"0\.\d|precision|recall|firing|mail", text)] == []
    assert 'href="/"' not in pages["/"].text


def test_no_point_stands_without_its_interval(alarmed):
    ada = visitor(alarmed)

    for path in ("/", "/monitors/mail", *(f"/monitors/mail/rounds/{number}" for number in (2, 3))):
        html = ada.get(path).response.text
        found = re.findall(r"<(?:dd|td)>(-?\d\.\d+)([^<]*)<", html)

        assert found or path.endswith("/3"), path
        assert [pair for pair in found if not re.match(r" \[-?\d.*\]$", pair[1])] == []


def test_the_small_figure_is_drawn_by_the_numbers_beside_it(alarmed):
    ada = visitor(alarmed).get("/")
    drawn = [element for tag, element in ada.page.elements if tag == "line"]
    monitor = MonitorSettings(name=alarmed.name, round=alarmed.settings)
    rows: list[Any] = overview(alarmed.database, monitor, alarmed.now).estimates

    ends = {(line["x1"], line["x2"]) for line in drawn if line["class"] in {"own", "pooled"}}
    limits = [line["x1"] for line in drawn if line["class"] == "limit"]

    wanted = [(row.low, row.high) for row in rows if row.low is not None and row.high is not None]
    assert ends == {(f"{100 * low:.1f}%", f"{100 * high:.1f}%") for low, high in wanted}
    assert len(wanted) == len(rows)
    assert limits == ["70.0%", "40.0%"]


def test_the_timeline_is_a_picture_with_a_title_and_the_rounds(alarmed):
    answer = visitor(alarmed).client.get("/monitors/mail/precision.svg")
    picture = ElementTree.fromstring(answer.content)  # noqa: S314  it is our own

    assert answer.headers["content-type"] == "image/svg+xml"
    assert picture[0].text == "mail: precision"
    assert "style" not in answer.text
    assert answer.text.count("<circle") == 4, "two rounds, alone and with earlier ones"


def test_links_lead_to_mlflow_where_it_has_pages_and_are_left_out_elsewhere(alarmed):
    address = "http://mlflow.test:5000/#/experiments/1"

    linked = [
        shown(alarmed, path, mlflow=address).response.text
        for path in ("/monitors/mail", "/monitors/mail/rounds/2")
    ]
    plain = [shown(alarmed, path).response.text for path in ALL[1:3]]

    assert [html.count(f'<a href="{address}">The round in MLflow</a>') for html in linked] == [1, 1]
    assert ["MLflow</a>" in html for html in plain] == [False, False]


def test_versions_of_a_round_are_shown_as_they_were(scene):
    scene.play(1)
    item = next(iter(scene.labeler.answers))
    scene.labeler.answers[item] = Answer.CANNOT_TELL
    scene.now += timedelta(days=1)
    scene.run()

    newest, first = (
        shown(scene, f"/monitors/mail/rounds/1{query}") for query in ("", "?version=1")
    )

    assert "version 2 of 2" in newest.page.text
    assert "version 1 of 2" in first.page.text
    assert '<a href="/monitors/mail/rounds/1?version=1">1</a>' in newest.response.text


MISSING = {
    "/monitors/other": "The config has no such monitor.",
    "/monitors/%3Cscript%3E": "The config has no such monitor.",
    "/monitors/mail/rounds/9": "mail has no round 9; its rounds lie between 1 and 3.",
    "/monitors/mail/rounds/2?version=7": "round 2 of mail has no version 7; the newest is 1.",
    "/monitors/mail/rounds/two": "There is no such page here.",
    "/monitors/mail/rounds/2?version=x": "There is no such page here.",
    "/monitors/mail?before=some": "There is no such page here.",
    "/monitors/mail?before=7": "mail has no round 7; its rounds lie between 1 and 3.",
    "/monitors/mail/f1.svg": "There is no such page here.",
    f"/monitors/mail/rounds/{10**30}": (
        f"mail has no round {10**30}; its rounds lie between 1 and 3."
    ),
    "/monitors/mail/rounds/2?version=0": "There is no such page here.",
}


def test_what_is_not_there_is_said_in_a_sentence(alarmed):
    ada = visitor(alarmed)

    for path, said in MISSING.items():
        ada.get(path)

        assert ada.response.status_code == 404
        assert said in ada.page.text
        assert [tag for tag, _ in ada.page.elements if tag == "script"] == []


def test_texts_of_strangers_are_texts(alarmed):
    [alert] = alarmed.read(alert_store.find_alerts, state=AlertState.FIRING)
    resolved = {"why": HOSTILE, "now": alarmed.now}
    alarmed.write(alert_store.end, alert.id, AlertState.RESOLVED, **resolved)
    alarmed.execute(*(update(table).values(reason=HOSTILE) for table in (rounds, round_events)))

    ada = visitor(alarmed)
    for path in ALL[:3]:
        ada.get(path)

        assert ada.response.status_code == 200
        assert [tag for tag, _ in ada.page.elements if tag == "script"] == []
        assert [element for tag, element in ada.page.elements if "onerror" in element] == []
        assert "\u202e" not in ada.response.text
        assert "\x1b" not in ada.response.text
        assert "<script>alert(1)" in ada.page.text, path
        assert "\\u202egnp" in ada.page.text


def test_no_page_has_a_script_or_a_style_of_its_own(alarmed):
    ada = visitor(alarmed)
    for path in ALL[:3]:
        html = ada.get(path).response.text

        assert re.findall(r"<script|<style|\sstyle=|\son[a-z]+=|javascript:", html) == []
        assert re.findall(r"(?:src|href|action)=\"(?![/#])", html) == []


def test_a_monitor_lists_its_newest_rounds_and_leads_to_the_older_ones(alarmed, monkeypatch):
    monkeypatch.setattr("monitor.service.pages.status.addresses.ROUNDS", 1)
    monkeypatch.setattr("monitor.service.pages.status.addresses.OLDER", 1)
    ada = visitor(alarmed)

    def listed(path):
        html = ada.get(path).response.text
        older = re.findall(r'href="(/monitors/mail\?before=-?\d+)#rounds"', html)
        rows = re.findall(r'</th><td><a href="/monitors/mail/rounds/(-?\d+)', html)
        return rows, older, "Newest rounds" in html

    page = "/monitors/mail?before="
    for oldest, middle, newest in (("1", "2", "3"), ("-1", "0", "1")):
        assert listed("/monitors/mail") == ([newest], [f"{page}{newest}"], False)
        assert listed(f"{page}{newest}") == ([middle], [f"{page}{middle}"], True)
        assert listed(f"{page}{middle}") == ([oldest], [], True)
        assert listed(f"{page}{oldest}") == ([], [], True)
        assert f"No rounds before round {oldest}." in ada.page.text
        assert f"What round {newest} asked of each stratum" in ada.page.text
        # as a backfill of earlier slots counts
        alarmed.execute("update rounds set number = number - 2")


def test_no_page_shows_an_item(alarmed):
    ids = [row["id"] for row in alarmed.rows("select id from items")]
    ada = visitor(alarmed)
    told = [ada.get(path).response.text for path in [*ALL, "/monitors/mail/rounds/3"]]

    assert len(ids) > 100
    assert [one for one in ids if any(one in page for page in told)] == []
    assert re.findall(r"item \d", " ".join(told)) == []


def test_the_page_of_a_round_leads_to_its_report_which_may_have_a_style_and_nothing_else(alarmed):
    person = visitor(alarmed)

    [link] = [
        named["href"]
        for tag, named in person.get("/monitors/mail/rounds/2").page.elements
        if tag == "a" and "report" in named["href"]
    ]
    report = person.client.get(link)

    assert link == "/monitors/mail/rounds/2/report?version=1"
    assert report.status_code == 200
    assert "below its limit" in report.text.partition("<h1>")[2].partition("</h1>")[0]
    assert "report" not in person.get("/monitors/mail/rounds/3").response.text, "it is not closed"
    assert person.client.get("/monitors/mail/rounds/3/report").status_code == 404
    assert person.client.get("/monitors/mail/rounds/9/report").status_code == 404
    allowed = report.headers["content-security-policy"]
    assert allowed.startswith("default-src 'none'; style-src 'sha256-")
    assert "script" not in allowed
    assert allowed.endswith("frame-ancestors 'none'; sandbox")
    assert report.headers["x-content-type-options"] == "nosniff"
    assert report.headers["cache-control"] == "no-store"


def test_the_first_page_shows_so_many_monitors_and_leads_to_the_others(scene, monkeypatch):
    monkeypatch.setattr("monitor.service.pages.status.addresses.MONITORS", 2)
    three = [MonitorSettings(name=f"mail-{n}", round=scene.settings) for n in (1, 2, 3)]
    board = Board(scene.database, lambda: scene.now, lambda: three, lambda *_: None)
    ada = WebSession("ada", "", Role.ADMIN)

    first, second, beyond = (
        bytes(first_page(board, ada, page).body).decode() for page in (1, 2, 3)
    )

    def monitors(html):
        return re.findall(r'href="/monitors/(mail-\d)"', html)

    assert [monitors(html) for html in (first, second, beyond)] == [
        ["mail-1", "mail-2"],
        ["mail-3"],
        [],
    ]
    assert ['href="/?page=2"' in first, 'href="/?page=1"' in second] == [True, True]
    assert all("3 monitors" in html for html in (first, second))
    assert "There are no more monitors." in beyond
