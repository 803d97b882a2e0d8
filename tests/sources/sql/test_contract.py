"""What every source keeps, on each database."""

import pytest

from monitor.domain.model import BadRow
from monitor.testing import ChallengerContract, JudgeContract, SourceContract
from tests.sources.sql.databases import (
    BY_COUNTRY,
    TRANSPILED,
    OnPlace,
    also_in_files,
    also_transpiled,
    make_table,
    source_of,
)

DECISIONS = {True: 80.0, False: 20.0, None: None}
NO_NUMBERS = (BadRow.SCORE_NAN, BadRow.SCORE_INFINITE)
IMPOSSIBLE = {
    "postgresql": (),
    "duckdb": (),
    "spark": (),
    **dict.fromkeys(TRANSPILED, ()),
    "sqlite": (BadRow.SCORE_NAN,),  # which it stores as null
    **dict.fromkeys(("mariadb", "mysql", "mssql"), NO_NUMBERS),
}


@also_in_files
@also_transpiled
class TestByThreshold(OnPlace, SourceContract):
    @pytest.fixture(autouse=True)
    def _impossible(self, place):
        self.impossible = IMPOSSIBLE[place.name]

    def source(self, rows):
        make_table(self.place, rows)
        return source_of(self.place, columns=BY_COUNTRY)


class TestByPredictedClass(TestByThreshold):
    def source(self, rows):
        make_table(self.place, rows)
        columns = {**BY_COUNTRY, "predicted": "predicted"}
        return source_of(self.place, columns=columns, threshold=None)


@also_in_files
@also_transpiled
class TestChallengerByClass(OnPlace, ChallengerContract):
    def challenged_source(self, rows):
        make_table(self.place, rows, other="boolean")
        challenger = {"predicted": "other"}
        return source_of(self.place, columns=BY_COUNTRY, challenger=challenger)


class TestChallengerByScore(TestChallengerByClass):
    def challenged_source(self, rows):
        scored = [{**row, "other": DECISIONS[row["other"]]} for row in rows]
        make_table(self.place, scored, other=self.place.kinds["double"])
        challenger = {"score": "other", "threshold": 70}
        return source_of(self.place, columns=BY_COUNTRY, challenger=challenger)


@also_in_files
@also_transpiled
class TestJudge(OnPlace, JudgeContract):
    def judged_source(self, rows):
        words = {True: "yes", False: "no", None: None}
        judged = [{**row, "verdict": words[row["verdict"]]} for row in rows]
        make_table(self.place, judged, verdict=self.place.kinds["text"])
        judge = {"column": "verdict", "positive": "yes"}
        return source_of(self.place, judge, columns=BY_COUNTRY)
