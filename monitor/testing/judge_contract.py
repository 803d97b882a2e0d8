"""What every source keeps that has a judge's verdicts, as tests."""

# ruff: noqa: S101  assertions are the purpose of this file

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from monitor.domain.model import BandEdges, Stratum, Window
from monitor.testing.memory import Row, draw_order, holds, verdict_of, within
from monitor.testing.source_contract import MONDAY, example_rows

if TYPE_CHECKING:
    from monitor.domain.ports import Source


class JudgeContract:
    """Derive from it beside `SourceContract` and define how to make the source.

    Rows are as in `SourceContract`, with ``verdict``: true, false, or None where the judge said
    nothing.
    """

    window = Window(MONDAY, MONDAY + timedelta(days=1))
    strata = BandEdges((0.7,), (0.2,), judged=True).strata()

    def judged_source(self, rows: list[Row]) -> Source:
        """Make a source over these rows that flags from a score of 0.5 on, and has ``verdict``."""
        raise NotImplementedError

    def _rows(self, count: int = 200) -> list[Row]:
        verdicts = (True, False, False, None, True, False, False)
        return [
            {**row, "verdict": verdicts[index % len(verdicts)]}
            for index, row in enumerate(example_rows(count))
        ]

    def _members(self, rows: list[Row], stratum: Stratum) -> list[str]:
        members = [
            row["id"]
            for row in rows
            if within(row, self.window)
            and row["predicted"] == stratum.flagged
            and verdict_of(row["verdict"]) == stratum.verdict
            and holds(stratum, row["score"], alone=False)
        ]
        return sorted(members, key=lambda item_id: draw_order("s", item_id))

    def test_strata_are_cut_by_the_verdict(self) -> None:
        """And within a stratum items are drawn as everywhere."""
        rows = self._rows()

        frame = self.judged_source(rows).scan(self.window, self.strata, 3, "s")

        assert [part.stratum for part in frame.strata] == list(self.strata)
        for part in frame.strata:
            members = self._members(rows, part.stratum)
            assert part.size == len(members)
            assert [candidate.id for candidate in part.candidates] == members[:3]
        assert sum(part.size > 0 for part in frame.strata) == len(self.strata)

    def test_verdicts_are_not_needed_where_nothing_is_cut_by_them(self) -> None:
        """A window is looked at by class alone before its bands are known."""
        rows = self._rows()

        frame = self.judged_source(rows).scan(self.window, BandEdges().strata(), 3, "s")

        assert frame.size == sum(within(row, self.window) for row in rows)
