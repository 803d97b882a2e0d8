"""What the benchmark of draws prints for Spark; it starts a session of its own."""

import pytest

from benchmarks import draw
from tests.spark import need_spark

pytestmark = [pytest.mark.slow, pytest.mark.soak]


def test_it_prints_each_work_beside_the_bare_scan(capsys):
    need_spark()

    works = ("bare", "later + show", "min_by")
    draw.main(engine="spark", rows=(2000,), threads=(1,), repeats=1, works=works)

    title, heading, *lines = capsys.readouterr().out.splitlines()
    assert title == "Spark, 2,000 rows, 8 strata x 1000"
    assert heading.split() == ["CPU", "wall", "x", "bare", "peak", "Spark"]
    assert [line[:14].strip() for line in lines] == ["bare", "later + show", "min_by"]
    assert " 1.0 " in lines[0]
    assert all(line.endswith(" MB") for line in lines)
