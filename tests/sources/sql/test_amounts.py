"""Windows by amount, logs that keep a sample, and released items: one draw on each database."""

import hashlib
import random

import pytest

from monitor.domain.errors import SourceRefused
from monitor.domain.model import BandEdges
from monitor.testing.source_contract import MONDAY_WINDOW, example_rows, members
from tests.sources.sql.databases import (
    BY_COUNTRY,
    DuckdbPlace,
    OnPlace,
    also_in_files,
    also_transpiled,
    make_table,
    source_of,
)

STRATA = BandEdges(flagged=(0.7,), passed=(0.2,)).strata()
BY_AMOUNT = {**BY_COUNTRY, "weight": "other"}


def uniform(seed, item_id):
    digits = hashlib.md5(f"{seed}|{item_id}".encode(), usedforsecurity=False).hexdigest()
    return int(digits[:13], 16) / 16**13


def with_amounts(count=200, **changes):
    """Rows of which one in 40 holds 300 times what others hold."""
    rows = example_rows(count)
    amounts = [300.0 if i % 40 == 7 else 1.0 + (i * 7) % 13 for i in range(count)]
    for i, amount in changes.get("at", {}).items():
        amounts[i] = amount
    return [{**row, "other": amount} for row, amount in zip(rows, amounts, strict=True)]


class OfRows(OnPlace):
    def scan(self, rows, at_most=12, **settings):
        make_table(self.place, rows, other=self.place.kinds["double"])
        source = source_of(self.place, **settings)
        return source.scan(MONDAY_WINDOW, STRATA, at_most, "s33d")


@also_in_files
@also_transpiled
class TestByAmount(OfRows):
    @pytest.mark.parametrize("at_most", [3, 12, 500])
    def test_candidates_are_the_first_of_their_stratum_by_md5_over_amount(self, at_most):
        rows = with_amounts()

        frame = self.scan(rows, at_most, columns=BY_AMOUNT)

        for part in frame.strata:
            own = members(rows, part.stratum)
            own.sort(key=lambda row: uniform("s33d", row["id"]) / row["other"])
            assert [one.id for one in part.candidates] == [row["id"] for row in own[:at_most]]

    def test_sizes_and_segments_are_amounts(self):
        rows = with_amounts()

        frame = self.scan(rows, columns=BY_AMOUNT)

        for part in frame.strata:
            own = [row["other"] for row in members(rows, part.stratum)]
            assert part.size == sum(own)
            assert part.rows == -round(sum(own) ** 2 / sum(each**2 for each in own))
            assert part.largest == max(own)
            assert sum(part.segments[0].values()) == part.size
        assert frame.is_amount

    def test_rows_without_a_positive_amount_are_left_out_by_name(self):
        rows = with_amounts(at={2: None, 5: -3.0, 9: 0.0})

        frame = self.scan(rows, columns=BY_AMOUNT)

        assert frame.bad_rows == {"amount missing or not a number": 1, "amount negative": 1}
        assert frame.notes["rows with the amount 0, which count for nothing"] == 1

    def test_amounts_that_whole_numbers_cannot_hold_are_refused(self):
        rows = [{**row, "other": 0.001} for row in example_rows()]

        with pytest.raises(SourceRefused, match=r"columns.weight.*smaller unit, such as times 1"):
            self.scan(rows, columns=BY_AMOUNT)


@also_in_files
@also_transpiled
class TestSampledLog(OfRows):
    def test_rows_are_thinned_to_the_least_probability_of_their_stratum(self):
        rows = [{**row, "other": (0.25, 0.5)[i % 2]} for i, row in enumerate(example_rows())]

        frame = self.scan(rows, 500, columns=BY_COUNTRY, kept_with="other")

        for part in frame.strata:
            own = members(rows, part.stratum)
            assert part.size == sum(1 / row["other"] for row in own)
            assert part.rows == round(part.size / 4)
            ids = {one.id for one in part.candidates}
            assert {row["id"] for row in own if row["other"] == 0.25} <= ids
            assert len(ids) < len(own)

    def test_sizes_and_segments_are_of_all_predictions(self):
        rows = [{**row, "other": 0.5} for row in example_rows()]

        by_column = self.scan(rows, columns=BY_COUNTRY, kept_with="other")

        for part in by_column.strata:
            assert part.size == 2 * len(members(rows, part.stratum))
            assert sum(part.segments[0].values()) == part.size

    def test_rows_without_a_usable_probability_are_left_out_by_name(self):
        rows = [{**row, "other": 0.5} for row in example_rows()]
        for i, chance in enumerate((None, 0.0, 1.5, -1.0)):
            rows[i]["other"] = chance

        frame = self.scan(rows, columns=BY_COUNTRY, kept_with="other")

        assert frame.bad_rows == {"probability of being kept not from 0.000001 to 1": 4}

    def test_a_missing_column_is_refused_by_name(self):
        with pytest.raises(SourceRefused, match="kept_with"):
            self.scan(example_rows(), 12, columns=BY_COUNTRY, kept_with="others")


@pytest.mark.parametrize("probability", ["chance", 0.3])
@also_transpiled
def test_released_items_are_drawn_as_from_a_file_of_duckdb(place, tmp_path, probability):
    rng = random.Random(7)  # noqa: S311  no secret
    rows = [
        {**row, "let": rng.random() < 0.3, "chance": rng.choice([0.2, 0.4])}
        for row in example_rows(500)
    ]
    asked = {"columns": {**BY_COUNTRY, "released": "let"}, "released_with": probability}
    frames = []

    for each in (place, DuckdbPlace(tmp_path / "same.duckdb")):
        make_table(each, rows, let="boolean", chance=each.kinds["double"])
        frames.append(source_of(each, **asked).scan(MONDAY_WINDOW, STRATA, 1000, "s33d"))

    flagged = frames[0].strata[0]
    assert frames[0] == frames[1]
    assert flagged.release is not None
    assert 0 < len(flagged.candidates) <= flagged.release.released < flagged.size
