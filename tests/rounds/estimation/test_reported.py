"""What a report keeps of an estimate of the statistics."""

from __future__ import annotations

from monitor.domain.report import ReportedEstimate
from monitor.presentation.estimates import caution_text
from monitor.rounds.estimation.label_errors import reported
from monitor.stats.core.counts import Counts
from monitor.stats.estimation.posterior import estimate


def test_a_caution_by_leverage_goes_into_the_report_and_comes_back_with_how_far_a_label_moves():
    counts = Counts.of_arrays(
        size=[10_000, 900_000, 10_000],
        labeled=[400, 300, 600],
        positive=[320, 2, 300],
        is_flagged=[True, False, False],
    )

    row = reported(estimate(counts)["recall"])
    again = ReportedEstimate.model_validate_json(row.model_dump_json())

    [decides] = again.caution
    assert (decides.predicted, decides.worth) == ("passed", 2)
    assert 0.05 < (decides.moves or 0) < 0.15
    text = caution_text(again.caution) or ""
    assert text.startswith("few labels decide this, 2 positive in one band of the passed: each ")
