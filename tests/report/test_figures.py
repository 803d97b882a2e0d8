"""The figures that only the report has: counts by stratum, and curves each by itself."""

import pytest

from monitor.report.curve_figures import single_curves
from monitor.report.figures import counts_svg
from tests.drawing import looking
from tests.report.test_html import whole
from tests.tracking.reports import make_report, strata


def test_counts_stand_by_score_with_the_cells_of_the_confusion_matrix():
    picture = looking.at(counts_svg(make_report(1)))

    rows = [text for text in picture.texts if text.startswith(("flagged", "passed"))]
    assert rows == [
        "flagged-3, 0.9 to …",
        "flagged-2, 0.7 to 0.9",
        "flagged-1, 0.5 to 0.7",
        "passed-3, 0.3 to 0.5",
        "passed-2, 0.1 to 0.3",
        "passed-1, … to 0.1",
    ]
    counts = [text for text in picture.texts if text.startswith(("TP", "TN"))]
    assert counts[0] == "TP 68 · FP 8"
    assert counts[-1] == "TN 76 · FN 0"
    assert "flagged-1: TP 50, FP 26" in picture.description


def test_a_bar_is_as_long_as_its_count():
    picture = looking.at(counts_svg(make_report(1)))

    bars = [
        float(bar.attrib["width"])
        for bar in picture.root.findall(f"{looking.SVG}rect")
        if bar.get("fill") == "#0072B2"
    ]
    assert bars[0] / bars[2] == pytest.approx(68 / 50, rel=0.01)


def test_a_round_that_handed_nothing_out_has_no_counts_to_draw():
    rows = [row.model_copy(update={"planned": 0, "labeled": 0}) for row in strata()]

    assert counts_svg(make_report(1, strata=[])) is None
    assert counts_svg(make_report(1, strata=rows)) is None


def test_each_curve_is_a_picture_of_its_own_whose_words_fit():
    drawn = single_curves(whole(12))

    titles = [looking.at(one).title for one in drawn]
    assert [title.partition(": ")[2] for title in titles] == [
        "ROC",
        "Precision-recall",
    ]
    assert single_curves(make_report(1)) == []
