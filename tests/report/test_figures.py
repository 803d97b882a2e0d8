"""The curves of the report, each by itself."""

from monitor.report.curve_figures import single_curves
from tests.drawing import looking
from tests.report.test_html import whole
from tests.tracking.reports import make_report


def test_each_curve_is_a_picture_of_its_own_whose_words_fit():
    drawn = single_curves(whole(12))

    titles = [looking.at(one).title for one in drawn]
    assert [title.partition(": ")[2] for title in titles] == [
        "Precision at other prevalences (P3)",
        "ROC",
        "Precision-recall",
        "Precision-recall-gain",
    ]
    assert "this window: prevalence 2 %" in looking.at(drawn[0]).texts
    assert single_curves(make_report(1)) == []
    assert len(single_curves(whole(12, curves=None))) == 1
