"""Files that Spark would read as one table though they disagree about a column."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import SourceRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

_FOLDER = re.compile(r"/([^/=]+)=[^/]*(?=/)")
_TIME = re.compile(r"[<,]([^:<>,]+): (TIMESTAMP(?:_NTZ)?)\b")
_CACHE_SIZE = 64

_sound: OrderedDict[tuple[str, ...], None] = OrderedDict()
"""Lists of files that agree; to look at the types of many is a job of its own."""


def check_files(session: SparkSession, kind: str, paths: Sequence[str], rows: DataFrame) -> None:
    """Refuse a column that is also a folder's, and times with a zone beside times without one.

    Spark would put the folder's value in place of the file's, and would read the times of all
    files as the types of the first one.

    Raises `SourceRefused` if files disagree so.
    """
    items = tuple(sorted(rows.inputFiles()))
    if kind == "delta" or items in _sound:
        return
    _check_folders(session.read.format(kind), paths, items)
    if kind == "parquet" and len(items) > 1:
        _check_times(session.read.option("mergeSchema", "true"), paths)
    _sound[items] = None
    while len(_sound) > _CACHE_SIZE:
        _sound.popitem(last=False)


def _check_folders(reader: Any, paths: Sequence[str], result: Sequence[str]) -> None:
    folders = {name for path in result for name in _FOLDER.findall(path)}
    if not folders:
        return
    inside = reader.option("recursiveFileLookup", "true").load(list(paths)).columns
    own = {name.lower() for name in inside}
    if both := sorted(name for name in folders if name.lower() in own):
        message = (
            f"Spark's {', '.join(paths)}: {both[0]!r} is a column of the files and the name of "
            f"the folders that they are in ({both[0]}=...), whose value Spark reads in its place; "
            "rename one of the two, or make a table of the files"
        )
        raise SourceRefused(message)


def _check_times(reader: Any, paths: Sequence[str]) -> None:
    try:
        reader.parquet(*paths)
    except Exception as error:  # noqa: BLE001  Spark's or py4j's, by how Spark is reached
        # Numbers of several widths cannot be merged either, and are read as they should be.
        if not (both := _of_both_kinds(str(error))):
            return
        message = (
            f"Spark's {', '.join(paths)}: some files have times with a zone in column {both[0]!r} "
            "where others have times without one, and Spark reads all as those of the first file; "
            "write all of them with a zone"
        )
        raise SourceRefused(message) from None


def _of_both_kinds(schemas: str) -> list[str]:
    """Name the columns that are times with a zone in one schema, and without one in another."""
    kinds: dict[str, set[str]] = {}
    for name, kind in _TIME.findall(schemas):
        kinds.setdefault(name.strip(), set()).add(kind)
    return [name for name, result in kinds.items() if len(result) > 1]
