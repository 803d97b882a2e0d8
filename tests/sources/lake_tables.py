"""Tables of Delta and Iceberg for tests, and sources over them."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
from deltalake import write_deltalake
from pyiceberg.catalog import load_catalog

from monitor.sources.lake.settings import LakeSettings
from monitor.sources.lake.source import LakeSource

COLUMNS = {
    "id": "mail_id",
    "time": "scored_at",
    "score": "score",
    "show": ["text"],
    "segments": ["country"],
}
_TYPES = pa.schema(
    [
        ("mail_id", pa.string()),
        ("scored_at", pa.timestamp("us", tz="UTC")),
        ("score", pa.float64()),
        ("text", pa.string()),
        ("country", pa.string()),
    ]
)


def arrow(rows):
    """Rows, as `monitor.testing` writes them, as an Arrow table."""
    named = [
        {
            "mail_id": row["id"],
            "scored_at": row["time"],
            "score": row["score"],
            "text": row["text"],
            "country": row["country"],
        }
        for row in rows
    ]
    return pa.Table.from_pylist(named, schema=_TYPES)


def mails(count, *, first=0, score=0.9, day=3):
    """Rows of one day of March 2026 in the words of `arrow`."""
    at = datetime(2026, 3, day, tzinfo=UTC)
    return [
        {"id": f"m{place}", "time": at, "score": score, "text": f"mail {place}", "country": "CZ"}
        for place in range(first, first + count)
    ]


class Delta:
    """A Delta table in a folder."""

    extra = "delta"

    def __init__(self, folder):
        self.folder = folder
        self.address = str(folder / "predictions")

    def write(self, rows, *, mode="append"):
        write_deltalake(self.address, arrow(rows), mode=mode)

    def source(self, **changes):
        settings = {"delta": "predictions", "columns": COLUMNS, "threshold": 0.5, **changes}
        return LakeSource(LakeSettings.model_validate(settings), self.folder)


class Iceberg:
    """A table of an Iceberg catalog in a folder."""

    extra = "iceberg"

    def __init__(self, folder):
        self.folder = folder
        self.catalog = {
            "name": "test",
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"file://{folder}",
        }

    def table(self):
        catalog = load_catalog(**self.catalog)
        catalog.create_namespace_if_not_exists("mail")
        return catalog.create_table_if_not_exists("mail.predictions", _TYPES)

    def write(self, rows, *, mode="append"):
        table = self.table()
        is_new = table.current_snapshot() is None
        (table.append if is_new or mode == "append" else table.overwrite)(arrow(rows))

    def source(self, **changes):
        settings = {
            "iceberg": "mail.predictions",
            "catalog": self.catalog,
            "columns": COLUMNS,
            "threshold": 0.5,
            **changes,
        }
        return LakeSource(LakeSettings.model_validate(settings), self.folder)
