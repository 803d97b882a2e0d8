"""Large windows: rows that cannot be among the first by md5 are left out, and nothing else is."""

from __future__ import annotations

import pytest

from monitor.domain.model import BandEdges
from monitor.sources import duckdb_draw
from monitor.sources.bounds import guessed
from monitor.sources.duckdb_query import Query
from monitor.testing import draw_order
from tests.sources.prediction_files import COLUMNS, WEEK, parquet_source

ROWS = 6000
BANDS = BandEdges(flagged=(0.7, 0.9), passed=(0.1, 0.3), unscored=True).strata()
MANY = BandEdges(
    flagged=tuple(0.5 + i / 200 for i in range(1, 100)),
    passed=tuple(i / 200 for i in range(1, 100)),
).strata()
AT = "timestamptz '2026-03-02' + interval (i * 60) second as scored_at"
SCORE = "(i * 7919 % 10007) / 10007 as score"
IDS = {
    "texts": "'mail-' || i",
    "unicode": "'žluťoučký-😀-' || i",
    "numbers": "i * 1000003",
    "uuids": "cast(md5(i::varchar) as uuid)",
    "with NUL": "chr(0) || i",
    "each three times": "'mail-' || (i // 3)",
    "missing in part": "case when i % 7 > 0 then 'mail-' || i when i % 2 = 0 then '' end",
}


@pytest.fixture
def scans(monkeypatch):
    """The bounds of each scan that was run."""
    run = Query.scan
    seen = []

    def noted(query, window, strata, at_most, seed, bounds, only=()):
        seen.append(bounds)
        return run(query, window, strata, at_most, seed, bounds, only)

    monkeypatch.setattr(Query, "scan", noted)
    return seen


def mails(ids, *, score=SCORE, more="", rows=ROWS):
    return f"select {ids} as mail_id, {AT}, {score}, '' as text {more} from range({rows}) t(i)"


def let_all_windows_be_large(monkeypatch):
    monkeypatch.setattr(duckdb_draw, "WORTH", 0)
    monkeypatch.setattr(duckdb_draw, "CANDIDATES", 2000)


def both_ways(source, strata, at_most, monkeypatch):
    """Frames of the plain scan and of one with bounds."""
    plain = source.scan(WEEK, strata, at_most, "round 1")
    let_all_windows_be_large(monkeypatch)
    return plain, source.scan(WEEK, strata, at_most, "round 1")


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("at_most", [1, 40])
def test_a_bound_changes_no_item_whatever_ids_are(tmp_path, monkeypatch, scans, ids, at_most):
    source = parquet_source(tmp_path, mails(ids))

    plain, bounded = both_ways(source, BANDS, at_most, monkeypatch)

    assert bounded == plain
    assert scans[0] == {}
    assert scans[1]


def test_items_of_a_large_window_are_the_first_by_md5(tmp_path, scans, monkeypatch):
    source = parquet_source(tmp_path, mails("'žluť-' || i"))
    let_all_windows_be_large(monkeypatch)

    frame = source.scan(WEEK, BandEdges().strata(), 50, "round 1")

    of = {f"žluť-{i}": i * 7919 % 10007 / 10007 for i in range(ROWS)}
    in_order = sorted(of, key=lambda each: draw_order("round 1", each))
    for part in frame.strata:
        mine = [each for each in in_order if (of[each] >= 0.5) == part.stratum.flagged]
        assert [candidate.id for candidate in part.candidates] == mine[:50]
    assert set(scans[0]) == {0, 1}


def test_two_hundred_strata_are_cut_and_drawn_as_the_plain_rule_says(tmp_path):
    source = parquet_source(tmp_path, mails("'mail-' || i"))

    frame = source.scan(WEEK, MANY, 3, "round 1")

    scores = {f"mail-{i}": i * 7919 % 10007 / 10007 for i in range(ROWS)}
    in_order = sorted(scores, key=lambda each: draw_order("round 1", each))
    assert len(frame.strata) == 200
    for part in frame.strata:
        low = -1 if part.stratum.low is None else part.stratum.low
        high = 2 if part.stratum.high is None else part.stratum.high
        up = part.stratum.flagged
        mine = [i for i in in_order if low <= scores[i] < high and (scores[i] >= 0.5) == up]
        assert part.size == len(mine)
        assert [candidate.id for candidate in part.candidates] == mine[:3]


def test_a_beginning_unlike_the_rest_costs_a_second_scan_and_no_item(tmp_path, monkeypatch, scans):
    score = "case when i < 2000 then 0.95 else i % 20 / 25 end as score"
    source = parquet_source(tmp_path, mails("'mail-' || i", score=score, rows=40_000))

    plain, bounded = both_ways(source, BANDS, 200, monkeypatch)

    assert bounded == plain
    assert scans[1:] == [{2: scans[1][2]}, {}]


def test_a_model_version_that_begins_late_loses_no_item_to_a_bound(tmp_path, monkeypatch, scans):
    more = ", case when i < 5900 then 'v1' else 'v2' end as model"
    columns = {**COLUMNS, "model_version": "model"}
    source = parquet_source(tmp_path, mails("'mail-' || i", more=more), columns=columns)

    plain, bounded = both_ways(source, BANDS, 20, monkeypatch)

    assert bounded == plain
    assert bounded.model_version == "v2"
    assert len(scans) == 3


def test_items_without_a_score_are_drawn_the_same_with_a_bound(tmp_path, monkeypatch):
    more = ", i % 3 = 0 as flagged"
    score = "case when i % 2 = 0 then i % 10 / 10 end as score"
    source = parquet_source(
        tmp_path,
        mails("'mail-' || (i // 2)", score=score, more=more),
        threshold=None,
        columns={**COLUMNS, "predicted": "flagged"},
    )

    for strata in (BandEdges().strata(), BANDS):
        monkeypatch.undo()
        plain, bounded = both_ways(source, strata, 30, monkeypatch)
        assert bounded == plain


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("spread", [30, 400, 9000], ids=["few", "some", "all"])
def test_a_window_cut_again_has_the_items_and_counts_of_a_scan(tmp_path, ids, spread):
    source = parquet_source(tmp_path, mails(ids))
    before = source.scan(WEEK, BandEdges().strata(), spread, "round 1")

    again = source.scan_again(before, BANDS, 25, "round 1")

    assert again == source.scan(WEEK, BANDS, 25, "round 1")


@pytest.mark.parametrize(("spread", "hashed_again"), [(6000, []), (300, [{5}])])
def test_md5_is_taken_again_only_of_bands_that_lack_items(
    tmp_path, monkeypatch, spread, hashed_again
):
    score = "case when i % 100 > 4 then 0.05 + i % 5 / 25 else 0.5 + i % 5 / 10 end as score"
    strata = BandEdges(flagged=(0.6, 0.7), passed=(0.1, 0.2)).strata()
    source = parquet_source(tmp_path, mails("'mail-' || i", score=score))
    before = source.scan(WEEK, BandEdges().strata(), spread, "round 1")
    plain = source.scan(WEEK, strata, 90, "round 1")
    run, seen = Query.scan, []

    def noted(query, *arguments):
        seen.append(arguments[-1])
        return run(query, *arguments)

    monkeypatch.setattr(Query, "scan", noted)
    again = source.scan_again(before, strata, 90, "round 1")

    assert seen == hashed_again
    assert again == plain


def test_segments_and_versions_are_cut_again_as_scanned(tmp_path):
    more = ", case when i < 3000 then 'v1' else 'v2' end as model, 'land-' || (i % 40) as country"
    columns = {**COLUMNS, "model_version": "model"}
    for each in (columns, {**columns, "segments": ["country"]}):
        source = parquet_source(tmp_path, mails("'mail-' || i", more=more), columns=each)
        before = source.scan(WEEK, BandEdges().strata(), 500, "round 1")

        again = source.scan_again(before, BANDS, 40, "round 1")

        assert again == source.scan(WEEK, BANDS, 40, "round 1")


def test_items_without_a_score_are_cut_again_as_scanned(tmp_path):
    source = parquet_source(
        tmp_path,
        mails(
            "'mail-' || i",
            score="case when i % 2 = 0 then i % 10 / 10 end as score",
            more=", i % 3 = 0 as flagged",
        ),
        threshold=None,
        columns={**COLUMNS, "predicted": "flagged"},
    )
    before = source.scan(WEEK, BandEdges().strata(), 500, "round 1")

    for edges in (BandEdges(passed=(0.3,)), BandEdges(passed=(0.3,), unscored=True)):
        again = source.scan_again(before, edges.strata(), 40, "round 1")

        assert again == source.scan(WEEK, edges.strata(), 40, "round 1")


def test_a_bound_is_high_enough_for_a_stratum_half_as_large_as_guessed():
    bounds = guessed({0: 1000, 1: 999_000, 2: 10, -1: 500}, 100_000_000, 1000)

    share = int(bounds[0], 16) / 16**8
    assert share * 100_000_000 * 1000 / 1_000_510 / 2 > 1000 + 6 * 1000**0.5
    assert set(bounds) == {0, 1}
