"""Files of predictions for tests, and sources over them."""

import csv
from datetime import UTC, datetime

import pytest

from monitor.domain.errors import SourceRefused
from monitor.domain.model import BandEdges, Window
from monitor.sources.duckdb import DuckdbSource
from monitor.sources.table_settings import DuckdbSettings
from tests.engine import engine

COLUMNS = {"id": "mail_id", "time": "scored_at", "score": "score", "show": ["text"]}
BY_SCORE = {"path": "p.parquet", "columns": COLUMNS, "threshold": 0.5}
WEEK = Window(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC))
TWO = BandEdges().strata()


class InFolder:
    """Tests of a class that have a folder of their own."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path


def settings_with(**changes):
    return DuckdbSettings.model_validate({**BY_SCORE, **changes})


def write_csv(path, rows, header=("mail_id", "scored_at", "score", "text")):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)


def as_texts(rows):
    return [
        (
            row["id"] or "",
            "" if row["time"] is None else row["time"].isoformat(),
            "" if row["score"] is None else repr(row["score"]),
            row["text"],
        )
        for row in rows
    ]


WITH_COUNTRY = ("mail_id", "scored_at", "score", "text", "country")
BY_COUNTRY = {**COLUMNS, "segments": ["country"]}


def with_country(rows):
    """Rows as texts, and each one's country."""
    return [(*text, row["country"]) for text, row in zip(as_texts(rows), rows, strict=True)]


def copy_to(path, select, *values):
    with engine() as connection:
        connection.execute(f"copy ({select}) to '{path}' (format parquet)", values)


def csv_source(folder, rows, *, header=("mail_id", "scored_at", "score", "text"), **changes):
    write_csv(folder / "p.csv", rows, header)
    return DuckdbSource(DuckdbSettings(**{**BY_SCORE, "path": "p.csv", **changes}), folder)


def parquet_source(folder, select, **changes):
    copy_to(folder / "p.parquet", select)
    return DuckdbSource(settings_with(**changes), folder)


def refused(source):
    with pytest.raises(SourceRefused) as caught:
        source.scan(WEEK, TWO, 5, "s")
    return str(caught.value)


GOOD = ("a", "2026-03-03T00:00:00Z", "0.9", "hello")
