"""Labels by column from rows that Spark reads where the predictions are."""

import pyarrow.parquet as pq
import pytest

from monitor.domain.model import Answer
from monitor.plugins.spark.source import EVERY, SparkStatements
from tests.labeling.truth_contract import (
    MONDAY,
    TEXTS,
    TruthContract,
    arrow,
    found,
    rows_of,
    tasks_of,
)
from tests.plugins.spark.places import source_of, write
from tests.sources.sql.databases import BY_COUNTRY

pytestmark = pytest.mark.usefixtures("spark")


class TestTruths(TruthContract):
    table = "outcomes.parquet"

    def write(self, rows, kinds):
        pq.write_table(arrow(rows, kinds), self.folder / "outcomes.parquet")

    def source(self, **changes):
        return source_of(self.folder, **changes)

    def predictions(self, rows):
        write(self.folder, rows)
        return self.source(columns=BY_COUNTRY)

    def test_a_job_is_run_once_in_its_time_and_for_other_tasks(self, monkeypatch):
        self.write(rows_of([("a", "1", 0)]), TEXTS)
        labeler, asked = self.labeler(), []
        run = labeler.truths.of

        def noted(ids):
            asked.append(sorted(ids))
            return run(ids)

        monkeypatch.setattr(labeler.truths, "of", noted)

        cursor = labeler.collect(tasks_of(["a"]), None).cursor
        labeler._clock = lambda: MONDAY + EVERY / 2
        labeler.collect(tasks_of(["a"]), cursor)
        labeler.collect(tasks_of(["a", "b"]), cursor)
        labeler._clock = lambda: MONDAY + EVERY
        labeler.collect(tasks_of(["a"]), cursor)

        assert asked == [["a"], ["a", "b"], ["a"]]

    def test_thousands_of_ids_are_one_job(self, monkeypatch):
        self.write(
            rows_of([(f"m{n}", n % 2, 0) for n in range(3_000)]), TEXTS | {"outcome": "integer"}
        )
        jobs, run = [], SparkStatements.execute

        def noted(statements, statement, **options):
            jobs.append(statement)
            return run(statements, statement, **options)

        monkeypatch.setattr(SparkStatements, "execute", noted)

        answers, _ = found(self.labeler(), [f"m{n}" for n in range(3_000)])

        assert sum(answer is Answer.POSITIVE for answer in answers.values()) == 1_500
        assert len(jobs) == 1
