"""What every source keeps that has a challenger's decisions, as tests."""

# ruff: noqa: S101  assertions are the purpose of this file

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from monitor.domain.model import BandEdges, Stratum, Window
from monitor.testing.memory import Row, holds, within
from monitor.testing.source_contract import MONDAY, example_rows

if TYPE_CHECKING:
    from monitor.domain.ports import Source


class ChallengerContract:
    """Derive from it beside `SourceContract` and define how to make the source.

    Rows are as in `SourceContract`, with ``other``: whether the challenger flags the
    row, or None if it made no decision.
    """

    window = Window(MONDAY, MONDAY + timedelta(days=1))
    strata = BandEdges((0.7,), (0.2,)).strata()

    def challenged_source(self, rows: list[Row]) -> Source:
        """Make a source over these rows that flags from a score of 0.5 on, and has ``other``."""
        raise NotImplementedError

    def _rows(self, count: int = 200) -> list[Row]:
        decisions = (True, False, False, None, True, False, False)
        return [
            {**row, "other": decisions[index % len(decisions)]}
            for index, row in enumerate(example_rows(count))
        ]

    def _members(self, rows: list[Row], stratum: Stratum) -> list[Row]:
        return [
            row
            for row in rows
            if within(row, self.window)
            and row["predicted"] == stratum.flagged
            and holds(stratum, row["score"], alone=False)
        ]

    def test_decisions_are_counted_in_each_stratum(self) -> None:
        """Over the whole window, however few items are drawn."""
        rows = self._rows()

        frame = self.challenged_source(rows).scan(self.window, self.strata, 3, "s")

        for part in frame.strata:
            decided = [row["other"] for row in self._members(rows, part.stratum)]
            assert part.challenged is not None
            assert part.challenged.flagged == decided.count(True) > 0
            assert part.challenged.undecided == decided.count(None) > 0

    def test_each_candidate_has_its_decision(self) -> None:
        """So that its label counts for both classifiers."""
        rows = self._rows()

        frame = self.challenged_source(rows).scan(self.window, self.strata, 30, "s")

        decision_of = {row["id"]: row["other"] for row in rows}
        candidates = [candidate for part in frame.strata for candidate in part.candidates]
        assert candidates
        assert all(candidate.challenged is decision_of[candidate.id] for candidate in candidates)

    def test_decisions_do_not_move_the_draw(self) -> None:
        """The sample belongs to the monitored classifier."""
        rows = self._rows()
        others = [{**row, "other": not row["other"]} for row in rows]

        one, two = (
            self.challenged_source(each).scan(self.window, self.strata, 30, "s")
            for each in (rows, others)
        )

        for own, its in zip(one.strata, two.strata, strict=True):
            assert own.size == its.size
            assert [c.id for c in own.candidates] == [c.id for c in its.candidates]

    def test_repeated_rows_count_once(self) -> None:
        """As they do in the sizes."""
        rows = self._rows(60)

        frame = self.challenged_source([*rows, *map(dict, rows)]).scan(
            self.window, self.strata, 900, "s"
        )

        for part in frame.strata:
            decided = [row["other"] for row in self._members(rows, part.stratum)]
            assert part.challenged is not None
            assert (part.size, part.challenged.flagged, part.challenged.undecided) == (
                len(decided),
                decided.count(True),
                decided.count(None),
            )
