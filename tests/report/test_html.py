"""The HTML report: what it says, that it asks for nothing, and what strangers' texts become."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from monitor.domain.report import (
    CauseRow,
    NextRoundRow,
    NoticeRow,
    RecoveryRow,
    Status,
)
from monitor.presentation.parts.agreement import AgreementRow
from monitor.presentation.round_document import round_sections
from monitor.report.html import policy, report_html
from tests.service.pages.hostile import HOSTILE
from tests.tracking.reports import make_report, segments, slot_of, strata
from tests.tracking.test_challenger import challenger, comparison
from tests.tracking.test_curve_figures import CURVES

MOST_BYTES = 500_000
NEXT = NextRoundRow(slot=slot_of(31), max_labels=600, margins={"precision": 0.05}, hours=120)
AGREEMENT = AgreementRow(
    items=60,
    disagreed=4,
    annotators=2,
    **dict.fromkeys(("disagreement", "disagreement_low", "disagreement_high"), 0.05),
    **dict.fromkeys(("kappa", "kappa_low", "kappa_high", "alpha", "alpha_low", "alpha_high"), 0.8),
)
CAUSE = CauseRow.model_validate(
    {
        **dict.fromkeys(("before", "after"), (0.87, 0.8, 0.9)),
        **dict.fromkeys(("prevalence_before", "prevalence_after"), (0.05, 0.04, 0.06)),
        **dict.fromkeys(("change", "by_prevalence", "by_classifier"), (-0.2, -0.3, -0.1)),
        **dict.fromkeys(("recall_before", "recall_after"), (0.7, 0.6, 0.8)),
        "recall_change": (-0.01, -0.1, 0.1),
        "recall_sentence": "recall differs by no more than noise",
        "rounds": 29,
        "level": 0.95,
        "sentence": "precision fell, and the cause is known",
    }
)


class Page(HTMLParser):
    """The elements of a page, and what stands in each kind of them."""

    def __init__(self, page):
        super().__init__()
        self.bytes = page
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page.decode())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.said.setdefault(tag, []).append("")
        if tag not in {"meta", "rect", "line", "polyline", "polygon", "circle"}:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data):
        for tag in set(self._open):
            self.said[tag][-1] += data

    @property
    def text(self):
        return " ".join(" ".join(self.said["main"]).split())


def whole(number=30, **changes):
    """A report that has every part."""
    parts = {
        "curves": CURVES,
        "segments": segments(),
        "next_round": NEXT,
        "agreement": AGREEMENT,
        "cause": CAUSE,
        "concerns": ["nobody has answered"],
        "challenger": challenger(alone=comparison(1), pooled=comparison(4, half=0.02)),
        "pooled_coverage": (0.88, 0.98),
        "model": "models:/mail-travel/7",
    }
    return make_report(number, **{**parts, **changes})


def page_of(report):
    return Page(report_html(report))


def test_it_begins_with_a_verdict_and_what_to_do():
    page = page_of(whole(12))

    text = page.text
    assert page.said["h1"] == [
        "Precision is 0.73 (0.70 to 0.76), below its limit 0.8: the alert has been open since "
        "round 10."
    ]
    assert text.startswith("ALERT mail-travel, round 12 Precision is 0.73")
    assert text.index("pr-monitor alerts resolve a1") < text.index("Timeline")
    assert "In this round alone, about 5,227 (4,831 to 5,623) of the 7,200 flagged predict" in text


def test_a_whole_report_has_every_part_in_the_order_of_who_reads_it():
    heads = page_of(whole()).said["h2"]

    own = ["What to do", "Precision", "Recall", "Timeline", "Curves", "Next round", "Method"]
    assert [head for head in heads if head in own] == own
    sections = [section.title for section in round_sections(whole())]
    assert [head for head in heads if head not in own] == sections
    assert heads[:3] == own[:3]
    assert heads.index("Timeline") == heads.index("Estimates") - 1
    assert heads.index("Curves") == heads.index("Counts") + 1


def test_each_figure_says_its_unit_level_prevalence_and_how_many_labels():
    captions = page_of(whole()).said["figcaption"]

    assert len(captions) == 4
    assert all("prevalence 5.1 %; n = 456 labels of 62,200 predictions" in one for one in captions)
    *shares, counts, curves = captions
    assert all("hare of items" in one or "hares of items" in one for one in [*shares, curves])
    assert all("95 % intervals, each for one metric" in one for one in [*shares, curves])
    assert counts.startswith("Number of labels in each stratum")


def test_the_method_is_five_sentences_with_the_numbers_of_the_round():
    page = page_of(whole())

    first, *_, last = method = page.said["ol"][0].strip().split("\n")
    assert len(method) == 5
    assert "Of 62,200 predictions of the window 7,200 are flagged, 11.6 %; 480 items" in first
    assert "reaches 51.9" in last
    assert "at most one false alarm in 52 rounds" in last


def test_the_method_names_intervals_for_what_they_are_where_answers_are_missing():
    rows = whole().estimates
    bounds = [row.model_copy(update={"bound_low": row.low, "bound_high": row.high}) for row in rows]

    posterior, worst_case = (
        page_of(whole(**changes)).said["ol"][0] for changes in ({}, {"estimates": bounds})
    )

    assert "An interval holds the true value with probability 95 %" in posterior
    assert "An interval holds" not in worst_case
    assert "Answers are missing, so intervals are worst-case bounds" in worst_case


def test_two_years_of_rounds_and_many_strata_and_segments_stay_small():
    values = [f"value {place}" for place in range(21)]
    many = whole(104, segments=segments(("country", "client", "language"), values))

    page = report_html(many.model_copy(update={"strata": strata() * 4, "cells": strata() * 10}))

    assert len(page) < MOST_BYTES
    assert len(report_html(whole(30))) < 150_000


def test_it_holds_no_script_and_no_address():
    page = page_of(whole())

    assert {tag for tag, _ in page.elements}.isdisjoint(
        {"a", "base", "embed", "form", "iframe", "img", "image", "link", "object", "script", "use"}
    )
    names = {name for _, named in page.elements for name in named}
    assert names.isdisjoint({"src", "href", "srcset", "style", "action", "xlink:href"})
    assert not [name for name in names if name.startswith("on")]
    style = page.said["style"][0]
    assert "url(" not in style
    assert "@import" not in style
    without_names = page.bytes.decode().replace("http://www.w3.org/2000/svg", "")
    assert "//" not in without_names


def test_it_allows_its_own_style_and_nothing_else():
    page = page_of(whole())

    [allowed] = [named["content"] for _, named in page.elements if "http-equiv" in named]
    digest = base64.b64encode(hashlib.sha256(page.said["style"][0].encode()).digest()).decode()
    assert allowed == policy()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'" in allowed


def elements_of(page):
    """Names of the elements of a page, and of their attributes."""
    names = {name for _, named in page.elements for name in named}
    return {tag for tag, _ in page.elements}, names


@pytest.mark.parametrize("start", range(12))
def test_a_strangers_text_stays_a_text(start):
    texts = HOSTILE[start::12]
    notices = [NoticeRow(value=1.0, subject=text, sentence=text, kind=text) for text in texts]
    tame = whole(
        bad_rows={"x": 3},
        concerns=["x"],
        notices=[NoticeRow(value=1.0, subject="x", sentence="x", kind="x")],
    )
    rows = strata()
    hostile = whole(
        model=texts[0],
        bad_rows=dict.fromkeys(texts, 3),
        concerns=texts,
        notices=notices,
        cause=CAUSE.model_copy(update={"sentence": texts[-1]}),
        segments=segments((texts[1],), (*texts, "b" + texts[0])),
        strata=[
            row.model_copy(update={"stratum": text})
            for row, text in zip(rows, [*texts, *texts], strict=False)
        ],
    )

    page = page_of(hostile)

    assert elements_of(page) == elements_of(page_of(tame))
    assert len(page.bytes) < MOST_BYTES
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page.text)


def test_a_first_and_last_round_says_why_there_is_no_timeline_and_names_no_next_one():
    page = page_of(whole(1, cause=None, next_round=None, agreement=None))

    assert "Next round" not in page.said["h2"]
    assert "No items were labeled by two people" in page.text
    assert "This is the first round of the monitor; a timeline begins with the second." in page.text
    assert "with earlier rounds; limit" not in page.text
    assert page.said["h1"][0].startswith(
        "All well: no alert on precision ≥ 0.8 and recall ≥ 0.5; precision is 0."
    )


def test_an_abandoned_round_says_why_and_what_that_means_and_draws_nothing():
    abandoned = make_report(
        3, state="abandoned", status=Status.STALE, strata=[], timeline=[], next_round=NEXT
    )

    page = page_of(abandoned)

    assert page.said["h1"] == [
        "There is no estimate of this round: no label came for the flagged class."
    ]
    assert "Until a later round has an estimate, nothing watches mail-travel." in page.text
    assert "svg" not in {tag for tag, _ in page.elements}
    assert page.said["h2"] == ["What to do", "Next round"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"version": 2}, "those of the version before still hold"),
        ({}, "a part of the scores has no label"),
        (
            {"strata": [row.model_copy(update={"positive": 1}) for row in strata()]},
            "they need 10 labeled positives and negatives, and there are 6 and 450",
        ),
        (
            {"strata": [row.model_copy(update={"low": None, "high": None}) for row in strata()]},
            "the predictions have no scores",
        ),
    ],
)
def test_it_says_why_there_are_no_curves(changes, why):
    page = page_of(whole(12, curves=None, **changes))

    assert why in page.text


def test_an_alert_whose_metric_is_back_is_no_comfort_yet():
    [alert] = make_report(12).alerts
    recovery = RecoveryRow(
        rounds=2, evidence=4.2, ends_at=20, level=0.84, within=3, share=0.8, at_most=52
    )
    back = alert.model_copy(update={"limit": 0.7, "recovery": recovery})

    page = page_of(whole(12, alerts=[back]))

    assert page.said["h1"] == [
        "Precision is 0.73 (0.70 to 0.76), back within its limit 0.7, which is not proven yet: "
        "the alert has been open since round 10."
    ]
    assert "Evidence of recovery is 4.2 after 2 later rounds, and 20 ends the alert" in page.text


def test_two_alerts_are_one_sentence_and_each_can_be_ended_by_its_name():
    [first] = make_report(12).alerts
    second = first.model_copy(update={"id": "b2", "metric": "recall", "limit": 0.6})

    page = page_of(whole(12, alerts=[first, second]))

    assert page.said["h1"] == [
        "Precision is 0.73 (0.70 to 0.76), below its limit 0.8: the alert has been open since "
        "round 10; recall is 0.55 (0.52 to 0.58), below its limit 0.6: the alert has been open "
        "since round 10."
    ]
    assert (
        'To end the alert on recall now: pr-monitor alerts resolve b2 --reason "..."' in page.text
    )


def test_columns_of_counts_are_aligned_right_and_intervals_are_not():
    page = page_of(whole())

    heads = [attrs for tag, attrs in page.elements if tag == "th"]
    sides = {name: attrs.get("class") for name, attrs in zip(page.said["th"], heads, strict=True)}

    assert {sides[name] for name in ("size", "labeled", "positive")} == {"right"}
    assert {sides[name] for name in ("metric", "scores", "this round alone")} == {None}
