"""Windows that are cut by other strata: the same items and counts as those of a scan."""

import pytest

from monitor.domain.model import BandEdges
from monitor.sources.shared_query import SharedQuery
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


def mails(ids, *, score=SCORE, more="", rows=ROWS):
    return f"select {ids} as mail_id, {AT}, {score}, '' as text {more} from range({rows}) t(i)"


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


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_a_window_cut_again_has_the_items_and_counts_of_a_scan(tmp_path, ids):
    source = parquet_source(tmp_path, mails(ids))
    expected = source.scan(WEEK, BANDS, 25, "round 1")

    for few_some_or_all in (30, 400, 9000):
        before = source.scan(WEEK, BandEdges().strata(), few_some_or_all, "round 1")

        assert source.rescan(before, BANDS, 25, "round 1") == expected


@pytest.mark.parametrize(("spread", "hashed_again"), [(6000, []), (300, [{5}])])
def test_md5_is_taken_again_only_of_bands_that_lack_items(
    tmp_path, monkeypatch, spread, hashed_again
):
    score = "case when i % 100 > 4 then 0.05 + i % 5 / 25 else 0.5 + i % 5 / 10 end as score"
    strata = BandEdges(flagged=(0.6, 0.7), passed=(0.1, 0.2)).strata()
    source = parquet_source(tmp_path, mails("'mail-' || i", score=score))
    before = source.scan(WEEK, BandEdges().strata(), spread, "round 1")
    plain = source.scan(WEEK, strata, 90, "round 1")
    draw = SharedQuery.draw
    seen: list[set[int]] = []

    def noted(query, window, seed, bounds, version):
        seen.extend(map(set, bounds))
        return draw(query, window, seed, bounds, version)

    monkeypatch.setattr(SharedQuery, "draw", noted)
    again = source.rescan(before, strata, 90, "round 1")

    assert seen == hashed_again
    assert again == plain


def test_segments_and_versions_are_cut_again_as_scanned(tmp_path):
    more = ", case when i < 3000 then 'v1' else 'v2' end as model, 'land-' || (i % 40) as country"
    columns = {**COLUMNS, "model_version": "model"}
    for each in (columns, {**columns, "segments": ["country"]}):
        source = parquet_source(tmp_path, mails("'mail-' || i", more=more), columns=each)
        before = source.scan(WEEK, BandEdges().strata(), 500, "round 1")

        again = source.rescan(before, BANDS, 40, "round 1")

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
        again = source.rescan(before, edges.strata(), 40, "round 1")

        assert again == source.scan(WEEK, edges.strata(), 40, "round 1")
