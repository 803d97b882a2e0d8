"""Tables of Delta and Iceberg for tests, and sources over them."""

import json
import struct
import zlib
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake
from pyiceberg.catalog import load_catalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestWriterV2,
)
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.typedef import Record
from pyroaring import BitMap64

from monitor.plugins.lake.settings import LakeSettings
from monitor.plugins.lake.source import LakeSource

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
            "country": row.get("country"),
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
        self.write_arrow(arrow(rows), mode=mode)

    def write_arrow(self, table, *, mode="append"):
        write_deltalake(self.address, table, mode=mode)

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

    def table(self, types=_TYPES):
        catalog = load_catalog(**self.catalog)
        catalog.create_namespace_if_not_exists("mail")
        return catalog.create_table_if_not_exists("mail.predictions", types)

    def write(self, rows, *, mode="append"):
        self.write_arrow(arrow(rows), mode=mode)

    def write_arrow(self, rows, *, mode="append"):
        table = self.table(rows.schema)
        is_new = table.current_snapshot() is None
        (table.append if is_new or mode == "append" else table.overwrite)(rows)

    def source(self, **changes):
        settings = {
            "iceberg": "mail.predictions",
            "catalog": self.catalog,
            "columns": COLUMNS,
            "threshold": 0.5,
            **changes,
        }
        return LakeSource(LakeSettings.model_validate(settings), self.folder)


def delete_by_vector(lake, places):
    """Delete rows of a Delta table's one file as other writers do: by a vector beside the file.

    deltalake reads such vectors and writes none; the layout is that of Delta's protocol.
    """
    log = lake.folder / "predictions" / "_delta_log"
    first = (log / f"{0:020}.json").read_text().splitlines()
    add = next(json.loads(line)["add"] for line in first if '"add"' in line)
    magic = 1_681_511_377
    vector = struct.pack("<i", magic) + BitMap64(places).serialize()
    file = lake.folder / "predictions" / "deletion_vector.bin"
    checksum = struct.pack(">I", zlib.crc32(vector))
    file.write_bytes(b"\x01" + struct.pack(">i", len(vector)) + vector + checksum)
    described = {
        "storageType": "p",
        "pathOrInlineDv": file.as_uri(),
        "offset": 1,
        "sizeInBytes": len(vector),
        "cardinality": len(places),
    }
    remove = {key: add[key] for key in ("path", "size", "partitionValues")}
    remove |= {"dataChange": True, "deletionTimestamp": 1, "extendedFileMetadata": True}
    actions = [{"remove": remove}, {"add": {**add, "deletionVector": described}}]
    (log / f"{1:020}.json").write_text("\n".join(map(json.dumps, actions)))


class _Deletes(ManifestWriterV2):
    """Writes a manifest of delete files; pyiceberg reads them and writes none."""

    def content(self):
        return ManifestContent.DELETES

    @property
    def _meta(self):
        return {**super()._meta, "content": "deletes"}


class _AppendDeletes(_FastAppendFiles):
    def new_manifest_writer(self, spec):
        return _Deletes(
            spec, self.schema(), self.new_manifest_output(), self._snapshot_id, self._compression
        )


def delete_by_positions(lake, places):
    """Delete rows of an Iceberg table's one file as other writers do: by a file of positions."""
    table = lake.table()
    [data] = [task.file.file_path for task in table.scan().plan_files()]
    path = lake.folder / "deletes.parquet"
    rows = {"file_path": [data] * len(places), "pos": pa.array(places, pa.int64())}
    pq.write_table(pa.table(rows), path)
    deletes = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=path.as_uri(),
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=len(places),
        file_size_in_bytes=path.stat().st_size,
        spec_id=0,
    )
    with table.transaction() as transaction:
        producer = _AppendDeletes(Operation.OVERWRITE, transaction, table.io)
        producer.append_data_file(deletes)
        producer.commit()
