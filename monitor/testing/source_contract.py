"""What every source keeps, and one that reads challengers or judges, as tests."""

# ruff: noqa: S101, PLR2004  assertions are the purpose of this file

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial

from monitor.domain.model import BadRow, BandEdges, Stratum, Window
from monitor.domain.ports import Source
from monitor.domain.segments import MOST_VALUES, NO_VALUE, OTHER
from monitor.testing.memory import Row, draw_order, holds, verdict_of, within

DAY = timedelta(days=1)
MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
MONDAY_WINDOW = Window(MONDAY, MONDAY + DAY)
BOTH_DAYS = Window(MONDAY, MONDAY + 2 * DAY)


def example_rows(count: int = 200, *, start: datetime = MONDAY, days: int = 2) -> list[Row]:
    """Good rows, evenly over some days, with scores that spread over (0, 1) and no ties."""
    step = days * DAY / count
    return [
        {
            "id": f"{index:05d}",
            "time": start + index * step,
            "score": (index * 0.6180339887498949) % 1,
            "predicted": (index * 0.6180339887498949) % 1 >= 0.5,
            "text": f"message {index}",
            "country": ("CZ", "SK", "PL", "CZ", "")[index % 5],
        }
        for index in range(count)
    ]


def members(rows: Iterable[Row], stratum: Stratum) -> list[Row]:
    """Choose the rows of Monday that belong to a stratum; verdicts are not looked at."""
    return [
        row
        for row in rows
        if within(row, MONDAY_WINDOW)
        and row["predicted"] == stratum.flagged
        and holds(stratum, row["score"], alone=False)
    ]


class SourceContract:
    """What every source keeps. Derive, and make a source over given rows.

    The source flags scores of 0.5 and more and shows ``text``; its segment column is ``country``.
    """

    window = MONDAY_WINDOW
    strata = BandEdges(flagged=(0.7, 0.9), passed=(0.2,)).strata()
    impossible: Collection[BadRow] = ()
    """Bad rows that its place cannot hold, as a database that knows no NaN."""

    def source(self, rows: list[Row]) -> Source:
        """Make a source that holds these rows, as `MemorySource` takes them."""
        raise NotImplementedError

    def test_the_same_scan_gives_the_same_frame(self) -> None:
        """A scan is a function of its arguments."""
        source = self.source(example_rows())

        first, second = (source.scan(self.window, self.strata, 20, "seed") for _ in range(2))

        assert first == second

    def test_the_order_of_rows_does_not_matter(self) -> None:
        """A rewritten file gives the same draw."""
        rows = example_rows()

        first = self.source(rows).scan(self.window, self.strata, 20, "seed")
        second = self.source(rows[::-1]).scan(self.window, self.strata, 20, "seed")

        assert first == second

    def test_candidates_are_the_first_of_their_stratum_by_md5(self) -> None:
        """The draw can be audited with nothing but hashlib."""
        rows = example_rows()
        source = self.source(rows)

        for seed, at_most in (("round 1", 15), ("round 1", 40), ("round 2", 15)):
            for part in source.scan(self.window, self.strata, at_most, seed).strata:
                ids = [row["id"] for row in members(rows, part.stratum)]
                ids.sort(key=partial(draw_order, seed))
                assert [candidate.id for candidate in part.candidates] == ids[:at_most]
                assert part.size == len(ids) > 0

    def test_the_time_of_the_newest_row_of_the_window_is_reported(self) -> None:
        """So a window that ends early can be distinguished from one that is whole."""
        rows = example_rows()

        frame = self.source(rows).scan(self.window, self.strata, 1, "seed")

        assert frame.newest == max(row["time"] for row in rows if within(row, self.window))

    def test_sizes_and_bad_rows_and_other_versions_add_up_to_all_rows(self) -> None:
        """Nothing is dropped without being counted."""
        rows = [*example_rows(), *self._bad_rows()]

        frame = self.source(rows).scan(BOTH_DAYS, self.strata, 900, "s")

        assert frame.rows == len(rows)
        assert frame.size == frame.rows - sum(frame.bad_rows.values()) - sum(frame.notes.values())
        possible = {
            "id missing",
            "time missing",
            "score missing",
            "score NaN",
            "score infinite",
            "duplicate id",
        }.difference(self.impossible)
        assert dict(frame.bad_rows) == dict.fromkeys(possible, 1)

    def _bad_rows(self) -> list[Row]:
        good = example_rows(1)[0]
        rows: dict[BadRow, Row] = {
            BadRow.NO_ID: {**good, "id": None},
            BadRow.NO_TIME: {**good, "id": "bad-time", "time": None},
            BadRow.NO_SCORE: {**good, "id": "bad-missing", "score": None},
            BadRow.SCORE_NAN: {**good, "id": "bad-nan", "score": math.nan},
            BadRow.SCORE_INFINITE: {**good, "id": "bad-infinite", "score": math.inf},
            BadRow.DUPLICATE: {**good},
        }
        return [row for reason, row in rows.items() if reason not in self.impossible]

    def test_no_id_comes_twice(self) -> None:
        """Also where a row was written twice, or twice with different scores."""
        if BadRow.DUPLICATE in self.impossible:
            return
        rows = example_rows(60)
        rows += [dict(row) for row in rows[:10]]
        rows += [{**row, "score": 0.95, "predicted": True} for row in rows[:10]]

        frame = self.source(rows).scan(BOTH_DAYS, self.strata, 900, "s")

        ids = [candidate.id for part in frame.strata for candidate in part.candidates]
        assert len(ids) == len(set(ids)) == frame.size
        assert frame.bad_rows[BadRow.DUPLICATE] == len(rows) - len(ids)

    def test_windows_hold_their_start_and_not_their_end(self) -> None:
        """Windows that follow one another share no row and lose none."""
        row = example_rows(1)[0]
        edges = [MONDAY, MONDAY + DAY - timedelta(microseconds=1), MONDAY + DAY]
        rows = [{**row, "id": str(index), "time": time} for index, time in enumerate(edges)]
        source = self.source(rows)

        first = source.scan(self.window, self.strata, 9, "s")
        second = source.scan(Window(MONDAY + DAY, MONDAY + 2 * DAY), self.strata, 9, "s")

        assert (first.rows, second.rows) == (2, 1)

    def test_a_window_without_rows_is_an_empty_frame(self) -> None:
        """Not an error: the round reports that there was nothing."""
        later = Window(MONDAY + 50 * DAY, MONDAY + 51 * DAY)

        frame = self.source(example_rows()).scan(later, self.strata, 9, "s")

        assert (frame.rows, frame.size, dict(frame.bad_rows)) == (0, 0, {})
        assert [part.stratum for part in frame.strata] == list(self.strata)

    def test_a_score_on_an_edge_belongs_to_the_upper_band(self) -> None:
        """Bands are half-open like windows."""
        row = example_rows(1)[0]
        scores = {"a": 0.2, "b": 0.5, "c": 0.7, "d": 0.9}
        rows = [{**row, "id": i, "score": s, "predicted": s > 0.3} for i, s in scores.items()]

        frame = self.source(rows).scan(self.window, self.strata, 9, "s")

        result = {p.stratum.name: [c.id for c in p.candidates] for p in frame.strata}
        assert result == {
            "flagged-1": ["b"],
            "flagged-2": ["c"],
            "flagged-3": ["d"],
            "passed-1": [],
            "passed-2": ["a"],
        }

    def test_each_stratum_is_counted_by_country_too(self) -> None:
        """Sizes of segments are counted, not sampled."""
        rows = example_rows()

        frame = self.source(rows).scan(self.window, self.strata, 5, "s")

        assert frame.segment_columns == ("country",)
        for part in frame.strata:
            [sizes] = part.segments
            countries = [row["country"] or NO_VALUE for row in members(rows, part.stratum)]
            assert sizes == {country: countries.count(country) for country in set(countries)}
            assert sum(sizes.values()) == part.size

    def test_each_candidate_knows_its_country(self) -> None:
        """So that its label counts for its segment."""
        rows = example_rows()

        frame = self.source(rows).scan(self.window, self.strata, 20, "s")

        country_of = {row["id"]: row["country"] or NO_VALUE for row in rows}
        candidates = [candidate for part in frame.strata for candidate in part.candidates]
        assert candidates
        assert all(candidate.segments == (country_of[candidate.id],) for candidate in candidates)

    def test_only_the_largest_values_are_counted_apart(self) -> None:
        """However many values a column has, a page stays readable."""
        rows = example_rows(400)
        for index, row in enumerate(rows):
            row["country"] = "big" if index % 2 else f"tiny {index:03}"

        frame = self.source(rows).scan(BOTH_DAYS, self.strata, 900, "s")

        shown = {value for part in frame.strata for value in part.segments[0]}
        assert shown == {"big", OTHER, *(f"tiny {2 * i:03}" for i in range(MOST_VALUES - 1))}
        assert {c.segments[0] for part in frame.strata for c in part.candidates} == shown
        assert all(sum(part.segments[0].values()) == part.size for part in frame.strata)

    def test_segments_add_up_where_ids_come_twice(self) -> None:
        """Repeated rows count once, also where only some candidates are looked at."""
        rows = example_rows(300)
        if BadRow.DUPLICATE not in self.impossible:
            rows += [dict(row) for row in rows]

        for at_most in (7, 900):
            frame = self.source(rows).scan(BOTH_DAYS, self.strata, at_most, "s")
            for part in frame.strata:
                assert sum(part.segments[0].values()) == part.size

    def test_only_the_shown_columns_of_the_requested_ids_come_back(self) -> None:
        """Nothing else reaches a labeler."""
        source = self.source(example_rows())

        shown = source.show(["00003", "00050", "unknown"], self.window)

        assert shown == {"00003": {"text": "message 3"}, "00050": {"text": "message 50"}}

    def test_an_id_of_which_nothing_can_be_shown_comes_back_all_the_same(self) -> None:
        """One that does not has left the predictions since they were drawn from."""
        rows = example_rows()
        rows[3]["text"] = ""
        source = self.source(rows)

        shown = source.show(["00003", "00050"], self.window)

        assert shown == {"00003": {"text": ""}, "00050": {"text": "message 50"}}

    def test_a_window_counts_all_its_rows_good_and_bad(self) -> None:
        """So rows that come late are seen without a scan."""
        bad = [] if BadRow.NO_ID in self.impossible else [{**example_rows()[0], "id": None}]
        source = self.source([*example_rows(), *bad])

        assert source.count(self.window) == 100 + len(bad)
        assert source.count(Window(MONDAY - DAY, MONDAY)) == 0

    def test_the_span_is_the_first_and_the_last_time(self) -> None:
        """A backfill starts from it."""
        rows = example_rows()

        assert self.source(rows).span() == (rows[0]["time"], rows[-1]["time"])

    def test_an_item_was_predicted_when_its_earliest_row_of_the_window_was(self) -> None:
        """So labels that are older than their predictions are found."""
        first, second, *_ = example_rows()
        later = {**first, "time": first["time"] + timedelta(hours=1)}
        repeated = [] if BadRow.DUPLICATE in self.impossible else [later]

        times = self.source([*repeated, first, second]).prediction_times([first["id"]], self.window)

        assert times == {first["id"]: first["time"]}


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
