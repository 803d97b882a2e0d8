"""The timeline can be read, in MLflow's descriptions too, which cut pictures off at an edge."""

import re

import pytest

from monitor.report.figures import timeline_svg
from tests.drawing import looking
from tests.tracking.reports import make_report

WIDEST = 680  # pixels that a page of 1280 has beside MLflow's own columns


def test_no_round_of_the_timeline_is_cut_off_in_a_description():
    width = re.match(rb'<svg [^>]*? width="(\d+)"', timeline_svg(make_report(11)))

    assert width is not None
    assert int(width[1]) <= WIDEST


@pytest.mark.parametrize("number", [2, 11, 40])
def test_no_words_of_the_timeline_lie_over_others_or_over_what_is_drawn(number):
    assert looking.at(timeline_svg(make_report(number, version=2))).covered() == []
