"""The document of a round: every reader of it finds the same sections, tables and lines."""

from typing import Any

import pytest

from monitor.cli.views.printing import echo_document
from monitor.cli.views.rounds_page import page_document, page_json
from monitor.domain.model import Window
from monitor.domain.report import RoundPage, RoundReport
from monitor.domain.round import Round
from monitor.domain.segments import SegmentSearchRow, WorseSegmentRow
from monitor.domain.state import RoundState
from monitor.presentation.numbers import capital
from monitor.presentation.parts.segments import search_tables
from monitor.presentation.round_document import (
    drawn_section,
    page_sections,
    round_sections,
)
from monitor.presentation.section import Section, SectionKind, section_parts
from monitor.presentation.table import Table
from monitor.tracking.describe import describe
from tests.report.test_html import page_of, whole
from tests.rounds.scene import settings
from tests.tracking.reports import strata

TITLES = [
    "What needs a look",
    "Against earlier rounds",
    "Evidence",
    "Estimates",
    "Counts",
    "Challenger: v8",
    "Segments",
]


def page(report, **changes):
    of_report = whole(12)
    round_ = Round(
        id=1,
        monitor="mail-travel",
        monitor_id=1,
        number=12,
        slot=of_report.slot,
        window=Window(of_report.window_start, of_report.window_end),
        state=RoundState.CLOSED,
        settings=settings(),
        seed="0",
        opened_at=of_report.slot,
        version=1,
    )
    shown: dict[str, Any] = {
        **dict.fromkeys(("provisional", "classes")),
        **{name: [] for name in ("restated", "restated_since", "drawn", "concerns", "events")},
        **{name: {} for name in ("bad_rows", "notes")},
    }
    return RoundPage(**(shown | {"round": round_, "version": 1, "report": report} | changes))


def terminal(report, capsys):
    echo_document(page_document(page(report)))
    return capsys.readouterr().out


def note(report, _):
    return describe(report).replace("\\", "")


def html(report, _):
    return page_of(report).text


@pytest.mark.parametrize("reader", [terminal, note, html])
def test_each_reader_has_every_section_in_order_with_its_tables_and_lines(reader, capsys):
    report = whole(12)
    sections = round_sections(report)

    text = " ".join(reader(report, capsys).split())

    assert [section.title for section in sections] == TITLES
    headings = [text.index(title) for title in TITLES if title != "Counts"]
    assert headings == sorted(headings)
    cells = {
        cell
        for section in sections
        for table in section.tables
        for row in [table.head, *table.rows]
        for cell in row
    }
    assert {cell for cell in cells if cell not in text} == set()
    lines = [line for section in sections for line in section.lines]
    assert [line for line in lines if line not in text and capital(line) not in text] == []


def test_means_of_all_rounds_are_lines_beside_the_interval_and_an_alert_points_to_one():
    quiet, before = whole(12), whole(12).alerts[0]
    fired = quiet.model_copy(update={"alerts": [before.model_copy(update={"fired_in_round": 12})]})

    quiet_lines, lines = (
        {section.kind: section.lines for section in round_sections(each)} for each in (quiet, fired)
    )

    means = [line for line in lines[SectionKind.ESTIMATES] if "in all rounds at once" in line]
    assert [line.split(" ")[0] for line in means] == ["precision", "recall"]
    crossed = [line for line in lines[SectionKind.EVIDENCE] if "evidence crossed" in line]
    assert len(crossed) == 1
    assert crossed[0].endswith(means[0].removeprefix("precision "))
    assert not any("evidence crossed" in line for line in quiet_lines[SectionKind.EVIDENCE])


def test_a_round_that_is_only_drawn_shows_what_it_asks_and_counts_nothing():
    drawn = page(None, version=0, drawn=strata(), concerns=["nobody answers"])

    attention, counts = page_sections(drawn)

    assert attention.lines == ["nobody answers"]
    [table] = counts.tables
    assert table.rows[0] == ["flagged-1", "0.5 to 0.7", "1,200", "80", "-", "-", "-"]
    assert page_json(drawn)["strata"][0]["labeled"] is None
    assert page_json(drawn)["estimates"] == []


def test_counts_of_bands_that_are_sums_of_cells_say_so_wherever_they_are_shown():
    of_cells = page(whole(12, cells=strata() * 2))

    for section in (drawn_section(of_cells), *page_sections(of_cells)):
        if section.kind == SectionKind.COUNTS:
            assert "positive / labeled is not a band's rate" in section.lines[0]


def test_a_round_fired_an_alert_though_it_has_ended_since():
    [alert] = whole(12).alerts
    ended = alert.model_copy(update={"state": "revised", "fired_in_round": 12})
    report = whole(12, alerts=[ended])

    [evidence] = [one for one in round_sections(report) if one.kind == SectionKind.EVIDENCE]

    assert ["the alert fired here" in line for line in evidence.lines] == [True, False]
    assert [row["fires"] for row in page_json(page(report))["evidence"]] == [True, False]


@pytest.mark.parametrize(
    ("odds", "high", "shown"),
    [(3.04, 5.0, "3.0 [2.0, 5.0]"), (8.0, None, "8 or more [2.0, 8 or more]")],
)
def test_odds_at_the_largest_that_are_tried_are_no_estimate(odds, high, shown):
    counts = {"flagged": (40, 12, 4.1), "passed": (40, 3, 2.8), "log_evidence": 5.0}
    named = {"segment": {"country": "CZ"}, "metric": "both", "rounds": 3}
    worse = WorseSegmentRow.model_validate(
        {"odds": odds, "low": 2.0, "high": high, **counts, **named}
    )

    [table] = search_tables(SegmentSearchRow(searched=9, rounds=3, level=0.1, worse=[worse]))

    assert table.rows[0][-2] == shown


def test_programs_get_every_key_with_and_without_a_report():
    keys = set(page_json(page(whole(12))))

    assert keys == set(page_json(page(None)))
    assert RoundReport.model_fields.keys() <= keys


def test_a_section_is_lines_and_tables_with_counts_to_the_right():
    table = Table(
        ["stratum", "size"], [["flagged", "1,600"], ["passed", "-"]], title="all", lines=["a"]
    )
    section = Section(SectionKind.COUNTS, "Counts", [table, table], ["b"])

    parts = [*section_parts([section])]

    aligned = table._replace(right="1")
    assert parts == ["", "Counts", "  all", aligned, "a", "", "  all", aligned, "a", "b"]
