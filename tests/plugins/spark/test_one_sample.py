"""The same seed draws the same ids by Spark and from tables of a lake as from files.

From databases it does by `tests.sources.sql.test_one_sample`.
"""

from __future__ import annotations

import pytest

from benchmarks import same_sample

ROWS = 30_000


@pytest.mark.parametrize("kind", same_sample.KINDS)
def test_every_engine_draws_the_same_sample(spark, tmp_path, kind):
    also = ("delta", "iceberg", "spark")
    places = same_sample.filled(tmp_path, {}, ROWS, [kind], also)[kind]

    frames = {
        name: source.scan(same_sample.WINDOW, same_sample.EDGES, 500, "s33d")
        for name, source in places.items()
    }

    first = frames.pop("duckdb")
    assert first.size == ROWS
    assert [len(part.candidates) for part in first.strata] == [500] * 6
    assert set(frames) == set(also)
    for name, frame in frames.items():
        assert frame.strata == first.strata, name
