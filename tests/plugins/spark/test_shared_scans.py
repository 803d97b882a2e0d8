"""Monitors of one table of Spark count and draw together what each would have alone."""

import pytest

from monitor.plugins.spark.source import SparkStatements
from tests.sources.prediction_files import WEEK
from tests.sources.sql.test_shared_scans import KINDS, planned, scanned, table_of


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


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_each_monitor_gets_the_frame_of_its_own_scan(place, jobs, kinds):
    table_of(5, place)
    expected = scanned(planned(place, kinds))
    together = planned(place, kinds)
    jobs.clear()

    together[0].source.read_for(together, WEEK, "s33d")

    assert len(jobs) <= 12  # three for each of two sets of segments, and the counts again
    assert [scan.source.cached is not None for scan in together] == [True] * len(together)
    assert scanned(together) == expected
