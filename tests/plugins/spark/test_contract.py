"""What every source keeps, on Spark."""

import pyarrow as pa
import pytest

from monitor.testing import ChallengerContract, JudgeContract, SourceContract
from tests.plugins.spark.places import source_of, write
from tests.sources.prediction_files import InFolder
from tests.sources.sql.databases import BY_COUNTRY

pytestmark = pytest.mark.usefixtures("spark")


class TestByThreshold(InFolder, SourceContract):
    def source(self, rows):
        write(self.folder, rows)
        return source_of(self.folder, columns=BY_COUNTRY)


class TestByPredictedClass(TestByThreshold):
    def source(self, rows):
        write(self.folder, rows)
        columns = {**BY_COUNTRY, "predicted": "predicted"}
        return source_of(self.folder, columns=columns, threshold=None)


class TestChallengerByClass(InFolder, ChallengerContract):
    def challenged_source(self, rows):
        write(self.folder, rows, other=pa.bool_())
        return source_of(self.folder, columns=BY_COUNTRY, challenger={"predicted": "other"})


class TestChallengerByScore(TestChallengerByClass):
    def challenged_source(self, rows):
        decisions = {True: 80.0, False: 20.0, None: None}
        scored = [{**row, "other": decisions[row["other"]]} for row in rows]
        write(self.folder, scored, other=pa.float64())
        challenger = {"score": "other", "threshold": 70}
        return source_of(self.folder, columns=BY_COUNTRY, challenger=challenger)


class TestJudge(InFolder, JudgeContract):
    def judged_source(self, rows):
        words = {True: 4.0, False: 2.0, None: None}
        judged = [{**row, "verdict": words[row["verdict"]]} for row in rows]
        write(self.folder, judged, verdict=pa.float64())
        judge = {"column": "verdict", "threshold": 3}
        return source_of(self.folder, judge, columns=BY_COUNTRY)
