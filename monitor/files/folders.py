"""Folders called ``column=value``: columns of the files in them, unless these have their own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from monitor.files.missing_markers import listed, literal, quoted

_FOLDER = re.compile(r"(?<=[/\\])([^/\\=]+)=([^/\\]*)(?=[/\\])")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_FILE = "monitor_file"

Stamps = list[list[str | int]]


def reading(
    function: str,
    paths: Sequence[str],
    options: str,
    columns: Collection[str],
    all_paths: Sequence[str] = (),
) -> str:
    """Write how DuckDB reads files, with a column for each folder that they all are in.

    The value of a folder is a text, so that ``007`` stays what it is, or a day. A column that the
    files have themselves comes from the files: DuckDB would put the folder's value in place of
    theirs.

    paths, columns: The files, and the columns in them.
    all_paths: More files that are read beside these, which decide what is a column.
    """
    folders = [dict(_FOLDER.findall(path)) for path in all_paths or paths]
    keys = {key for key in folders[0] if all(key in names for names in folders)}
    file_columns = {name.lower() for name in columns}
    ours = sorted(key for key in keys if key.lower() not in file_columns)
    if not ours:
        return f"{function}({listed(paths)}, {options}, hive_partitioning = false)"
    days = {key for key in ours if all(_DAY.fullmatch(of[key]) for of in folders)}
    if len(ours) == len(keys):
        types = ", ".join(f"{quoted(key)}: {_type(key, days)}" for key in ours)
        hive = f"hive_partitioning = true, hive_types = {{{types}}}"
        return f"{function}({listed(paths)}, {options}, {hive})"
    rows = (
        f"{function}({listed(paths)}, {options}, hive_partitioning = false, filename = '{_FILE}')"
    )
    values = (f"cast({_value(key)} as {_type(key, days)}) as {quoted(key)}" for key in ours)
    return f"(select * exclude ({_FILE}), {', '.join(values)} from {rows})"  # noqa: S608


def _type(key: str, days: Collection[str]) -> str:
    return "DATE" if key in days else "VARCHAR"


def _value(key: str) -> str:
    pattern = literal(f"[/\\\\]{re.escape(key)}=([^/\\\\]*)[/\\\\]")
    text = f"url_decode(regexp_extract({_FILE}, {pattern}, 1))"
    return f"nullif({text}, '__HIVE_DEFAULT_PARTITION__')"


def stamps_of(paths: Iterable[str]) -> Stamps:
    """Give path, size and time of each file, of which one differs once its content does."""
    stats = [(path, Path(path).stat()) for path in paths]
    return [[path, stamp.st_size, stamp.st_mtime_ns] for path, stamp in stats]
