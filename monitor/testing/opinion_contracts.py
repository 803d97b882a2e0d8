"""What every source keeps that reads another opinion on its rows, as tests: challengers, judges."""

# ruff: noqa: S101  assertions are the purpose of this file

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.model import BandEdges, Stratum
from monitor.testing.memory import Row, draw_order, verdict_of, within
from monitor.testing.source_contract import MONDAY_WINDOW, example_rows, members

if TYPE_CHECKING:
    from monitor.domain.ports import Source


def rows_with_opinions(name: str, count: int = 200) -> list[Row]:
    """Rows as in `SourceContract`, each with another opinion: true, false, or None without one."""
    opinions = (True, False, False, None, True, False, False)
    return [
        {**row, name: opinions[index % len(opinions)]}
        for index, row in enumerate(example_rows(count))
    ]


class ChallengerContract:
    """Derive from it beside `SourceContract` and define how to make the source.

    Rows are as in `SourceContract`, with ``other``: whether the challenger flags the
    row, or None if it made no decision.
    """

    window = MONDAY_WINDOW
    strata = BandEdges((0.7,), (0.2,)).strata()

    def challenged_source(self, rows: list[Row]) -> Source:
        """Make a source over these rows that flags from a score of 0.5 on, and has ``other``."""
        raise NotImplementedError

    def _decisions(self, rows: list[Row], stratum: Stratum) -> list[bool | None]:
        return [row["other"] for row in members(rows, stratum)]

    def test_decisions_are_counted_in_each_stratum(self) -> None:
        """Over the whole window, however few items are drawn."""
        rows = rows_with_opinions("other")

        frame = self.challenged_source(rows).scan(self.window, self.strata, 3, "s")

        for part in frame.strata:
            decided = self._decisions(rows, part.stratum)
            assert part.challenged is not None
            assert part.challenged.flagged == decided.count(True) > 0
            assert part.challenged.undecided == decided.count(None) > 0

    def test_each_candidate_has_its_decision(self) -> None:
        """So that its label counts for both classifiers."""
        rows = rows_with_opinions("other")

        frame = self.challenged_source(rows).scan(self.window, self.strata, 30, "s")

        decision_of = {row["id"]: row["other"] for row in rows}
        candidates = [candidate for part in frame.strata for candidate in part.candidates]
        assert candidates
        assert all(candidate.challenged is decision_of[candidate.id] for candidate in candidates)

    def test_decisions_do_not_move_the_draw(self) -> None:
        """The sample belongs to the monitored classifier."""
        rows = rows_with_opinions("other")
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
        rows = rows_with_opinions("other", 60)
        source = self.challenged_source([*rows, *map(dict, rows)])

        frame = source.scan(self.window, self.strata, 900, "s")

        for part in frame.strata:
            decided = self._decisions(rows, part.stratum)
            assert part.challenged is not None
            assert (part.size, part.challenged.flagged, part.challenged.undecided) == (
                len(decided),
                decided.count(True),
                decided.count(None),
            )


class JudgeContract:
    """Derive from it beside `SourceContract` and define how to make the source.

    Rows are as in `SourceContract`, with ``verdict``: true, false, or None where the judge said
    nothing.
    """

    window = MONDAY_WINDOW
    strata = BandEdges((0.7,), (0.2,), judged=True).strata()

    def judged_source(self, rows: list[Row]) -> Source:
        """Make a source over these rows that flags from a score of 0.5 on, and has ``verdict``."""
        raise NotImplementedError

    def test_strata_are_cut_by_the_verdict(self) -> None:
        """And within a stratum items are drawn as everywhere."""
        rows = rows_with_opinions("verdict")

        frame = self.judged_source(rows).scan(self.window, self.strata, 3, "s")

        assert [part.stratum for part in frame.strata] == list(self.strata)
        for part in frame.strata:
            judged = [row for row in rows if verdict_of(row["verdict"]) == part.stratum.verdict]
            ids = [row["id"] for row in members(judged, part.stratum)]
            ids.sort(key=lambda item_id: draw_order("s", item_id))
            assert part.size == len(ids)
            assert [candidate.id for candidate in part.candidates] == ids[:3]
        assert sum(part.size > 0 for part in frame.strata) == len(self.strata)

    def test_verdicts_are_not_needed_where_nothing_is_cut_by_them(self) -> None:
        """A window is looked at by class alone before its bands are known."""
        rows = rows_with_opinions("verdict")

        frame = self.judged_source(rows).scan(self.window, BandEdges().strata(), 3, "s")

        assert frame.size == sum(within(row, self.window) for row in rows)
