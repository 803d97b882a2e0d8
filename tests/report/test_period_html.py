"""The report of a period as HTML: a part for each monitor, and texts of strangers stay texts."""

import re

import pytest

from monitor.domain.alerting import AlertNote, AlertState, StoredAlert
from monitor.domain.model import Window
from monitor.domain.period_report import PeriodChange, PeriodReport, UncountedRound
from monitor.domain.report import NoticeRow
from monitor.report.period_html import period_html
from tests.report.test_html import Page, elements_of, whole
from tests.service.pages.hostile import HOSTILE
from tests.tracking.reports import segments, slot_of


def period_of(text="x", **changes):
    """A report whose every text is this one."""
    start, end = slot_of(29), slot_of(31)
    notice = NoticeRow(value=1.0, subject=text, sentence=text, kind=text)
    alert = StoredAlert(
        id=text,
        monitor="mail",
        metric="recall",
        side="at_least",
        limit=0.5,
        state=AlertState.RESOLVED,
        fired_round_id=1,
        fired_in_round=30,
        fired_slot=end,
        fired_at=end,
        window=Window(start, end),
        ended_at=end,
        ended_why=text,
        notes=(AlertNote(end, text, text),),
    )
    round_ = whole(
        model=text, concerns=[text], notices=[notice], segments=segments((text,), ("a",))
    )
    uncounted = UncountedRound(round=31, state="abandoned", reason=text)
    values = {
        "monitor": "mail",
        "period": "2025",
        "start": start,
        "end": end,
        "time_zone": "UTC",
        "made_at": end,
        "rounds": [round_],
        "uncounted": [uncounted],
        "skipped": 1,
        "later_rounds": [32],
        "alerts": [alert],
        "changes": [PeriodChange(round=30, sentence=text)],
        "people": 2,
        "method": [text],
    }
    return PeriodReport(**(values | changes))


def page_of(*reports):
    return Page(period_html(reports))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_strangers_text_stays_a_text(text):
    page = page_of(period_of(text))

    assert elements_of(page) == elements_of(page_of(period_of()))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page.text)


def test_each_monitor_has_a_part_and_the_page_names_them_all():
    page = page_of(period_of(), period_of(monitor="cards"))

    assert len(page.said["main"]) == 2
    assert page.said["title"][0] == "mail, cards, 2025"
    assert page.said["h1"] == [
        "mail: precision and recall, 2025",
        "cards: precision and recall, 2025",
    ]


def test_a_period_in_which_no_round_closed_names_the_others():
    page = page_of(period_of("a fault", rounds=[], alerts=[], method=[]))

    assert "No round of the period has closed; 0 alerts." in page.text
    assert "Round 31 is abandoned and not counted: a fault." in page.text


def test_the_page_runs_nothing_and_asks_no_one():
    page = page_of(period_of())

    tags = {tag for tag, _ in page.elements}
    assert tags.isdisjoint({"script", "img", "link", "iframe", "object"})
    [policy] = [
        attributes["content"]
        for tag, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
