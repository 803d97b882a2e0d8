"""Monitors of one table of Spark count and draw together what each would have alone."""

import pyarrow as pa
import pytest

from monitor.domain.ports import PlannedScan
from monitor.plugins.spark.source import SparkStatements
from tests.plugins.spark.places import source_of, write
from tests.sources.prediction_files import WEEK
from tests.sources.sql.test_shared_scans import KINDS, SCORES, odd_rows

TYPES = dict.fromkeys((*SCORES, "rare"), pa.float64()) | {"version": pa.string()}


@pytest.fixture
def jobs(monkeypatch):
    """The statements that Spark executed."""
    found = []
    execute = SparkStatements.execute

    def noted(statements, statement, **options):
        found.append(statement)
        return execute(statements, statement, **options)

    monkeypatch.setattr(SparkStatements, "execute", noted)
    return found


def planned(folder, kinds):
    return [PlannedScan(source_of(folder, **kind), *asked) for kind, *asked in kinds]


def scanned(scans):
    return [scan.source.scan(WEEK, scan.strata, scan.at_most, "s33d") for scan in scans]


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_each_monitor_gets_the_frame_of_its_own_scan(spark, tmp_path, jobs, kinds):
    write(tmp_path, odd_rows(5, has_nan=True), **TYPES, topic=pa.string())
    expected = scanned(planned(tmp_path, kinds))
    together = planned(tmp_path, kinds)
    jobs.clear()

    together[0].source.read_for(together, WEEK, "s33d")

    assert len(jobs) <= 12  # three for each of two sets of segments, and the counts again
    assert [scan.source.cached is not None for scan in together] == [True] * len(together)
    assert scanned(together) == expected
