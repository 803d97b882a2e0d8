"""Parts of a report: what computes one and what shows it go by the same name."""

from monitor.domain.report import RoundReport
from monitor.presentation.parts.registry import NO_PARTS
from monitor.rounds.parts.registry import PARTS


def test_every_part_is_shown_or_is_a_field_of_all_reports():
    fields = RoundReport.model_fields.keys()

    assert {part.name for part in PARTS} - fields == NO_PARTS.keys()
    assert NO_PARTS.keys() & fields == set()
