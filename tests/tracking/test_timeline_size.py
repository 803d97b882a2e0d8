"""The timeline fits into MLflow's descriptions, which cut pictures off and do not scale them."""

from __future__ import annotations

import re

from monitor.report.figures import timeline_svg
from tests.tracking.reports import make_report

WIDEST = 680  # pixels that a page of 1280 has beside MLflow's own columns


def test_no_round_of_the_timeline_is_cut_off_in_a_description():
    [width] = re.findall(rb'<svg [^>]*?width="(\d+)"', timeline_svg(make_report(11)))

    assert int(width) <= WIDEST
