"""A round on a standalone cluster whose workers are killed while they read."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from benchmarks import same_sample
from monitor.sources.duckdb import DuckdbSource
from monitor.sources.table_settings import DuckdbSettings
from tests.spark import need_spark

pytestmark = [pytest.mark.slow, pytest.mark.soak]
FILES, ROWS = 60, 300_000


@pytest.fixture
def folder(tmp_path):
    rows = same_sample.arrow_of("unicode", same_sample.predictions("unicode", ROWS))
    for number in range(FILES):
        part = rows.slice(number * ROWS // FILES, ROWS // FILES)
        pq.write_table(part, tmp_path / f"{number}.parquet")
    return tmp_path


def by_duckdb(folder):
    columns = {"id": "id", "time": "at", "score": "score"}
    asked = {"path": "*.parquet", "columns": columns, "threshold": 0.5}
    source = DuckdbSource(DuckdbSettings.model_validate(asked), folder)
    frame = source.scan(same_sample.WINDOW, same_sample.EDGES, 200, "s33d")
    return [[part.size, [each.id for each in part.candidates]] for part in frame.strata]


def test_the_draw_is_right_or_refused_whichever_workers_are_killed(folder, tmp_path_factory):
    need_spark()
    from tests.plugins.spark.clusters import cluster  # noqa: PLC0415  it needs pyspark

    wanted = by_duckdb(folder)
    with cluster(tmp_path_factory.mktemp("cluster")) as running:
        running.add_worker("first")
        running.add_worker("second")
        words = [running.master, str(folder), str(running.process("first"))]
        with started(words) as rounds:
            one_killed = answer(rounds)
            running.kill("second")
            none_left = asked_again(rounds, seconds=8)
            running.add_worker("third")
            one_is_back = asked_again(rounds, seconds=300)

    done, of = one_killed["killed at"]
    assert 0 < done < of
    assert one_killed["drawn"] == wanted
    assert "did not answer within 8 s" in none_left
    assert "are its workers there? It is tried again" in none_left
    assert one_is_back == wanted


def started(words):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.plugins.spark.on_cluster", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def answer(rounds):
    return json.loads(rounds.stdout.readline())


def asked_again(rounds, *, seconds):
    rounds.stdin.write(f"{seconds}\n")
    rounds.stdin.flush()
    return answer(rounds)["drawn"]
