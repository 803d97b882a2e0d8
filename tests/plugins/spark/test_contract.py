"""What every source keeps, on Spark."""

from __future__ import annotations

import pytest

from monitor.testing import SourceContract
from tests.plugins.spark.places import BY_COUNTRY, source_of, write

pytestmark = pytest.mark.usefixtures("spark")


class TestByThreshold(SourceContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path

    def source(self, rows):
        write(self.folder, rows)
        return source_of(self.folder, columns=BY_COUNTRY)


class TestByPredictedClass(TestByThreshold):
    def source(self, rows):
        write(self.folder, rows)
        columns = {**BY_COUNTRY, "predicted": "predicted"}
        return source_of(self.folder, columns=columns, threshold=None)
