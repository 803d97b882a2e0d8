"""What every source keeps, on each database."""

from __future__ import annotations

import pytest

from monitor.domain.model import BadRow
from monitor.testing import SourceContract
from tests.sources.sql.databases import BY_COUNTRY, make_table, source_of

IMPOSSIBLE = {
    "postgresql": (),
    "sqlite": (BadRow.SCORE_NAN,),  # which it stores as null
    "mariadb": (BadRow.SCORE_NAN, BadRow.SCORE_INFINITE),
}


class TestByThreshold(SourceContract):
    @pytest.fixture(autouse=True)
    def _place(self, place):
        self.place = place
        self.impossible = IMPOSSIBLE[place.name]

    def source(self, rows):
        make_table(self.place, rows)
        return source_of(self.place, columns=BY_COUNTRY)


class TestByPredictedClass(TestByThreshold):
    def source(self, rows):
        make_table(self.place, rows)
        columns = {**BY_COUNTRY, "predicted": "predicted"}
        return source_of(self.place, columns=columns, threshold=None)
