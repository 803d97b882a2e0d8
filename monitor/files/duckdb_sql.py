"""What is written in the SQL of DuckDB: names, texts, types, and files with their folders.

A folder called ``column=value`` is a column of the files in it, unless they have that column.
"""

from __future__ import annotations

import glob
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from monitor.domain.values import BLANKS

NUMBERS = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\))")
WHOLE_NUMBERS = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(\d+,\s*0\))")
TIMES = re.compile(r"(DATE|TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE|TIMESTAMPTZ_NS)")
AWARE_TIMES = re.compile(r"TIMESTAMP WITH TIME ZONE|TIMESTAMPTZ_NS")
TEXTS = re.compile(r"(VARCHAR|ENUM\(.*\))", re.DOTALL)

_EXACT = 10**15  # below it 64 bits of floating point hold every whole number

_FOLDER = re.compile(r"(?<=[/\\])([^/\\=]+)=([^/\\]*)(?=[/\\])")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

Stamps = list[list[str | int]]


def quoted(name: str) -> str:
    """Quote an identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Write a text."""
    return "'" + text.replace("'", "''") + "'"


def bare_text(sql: str) -> str:
    """Take the blanks around a text off (`monitor.domain.values.BLANKS`)."""
    return f"trim({sql}, {literal(BLANKS)})"


def listed(paths: Iterable[str]) -> str:
    """Write a list of paths, where no path is a glob."""
    return f"[{', '.join(literal(glob.escape(path)) for path in paths)}]"


def value_text(column: str, kind: str, *, is_text: bool = False) -> str:
    """Write the value of a column as text: a whole number is ``7``, never ``7.0``.

    A column of whole numbers becomes one of fractions once a value is missing, in pandas and
    where files are read together, and in CSV (``is_text``) its texts do.
    """
    value = quoted(column)
    text = f"cast({value} as varchar)"
    if is_text:
        is_whole = f"ends_with({text}, '.0') and regexp_full_match({text}, '-?[0-9]+[.]0')"
        return f"case when {is_whole} then left({text}, -2) else {text} end"
    if not NUMBERS.fullmatch(kind) or WHOLE_NUMBERS.fullmatch(kind):
        return text
    double = f"cast({value} as double)"
    is_whole = f"abs({double}) < {_EXACT} and {double} = trunc({double})"
    integer = f"cast(cast({double} as bigint) as varchar)"
    return f"case when isnan({double}) then null when {is_whole} then {integer} else {text} end"


def reading(
    function: str,
    paths: Sequence[str],
    options: str,
    columns: Collection[str],
    all_paths: Sequence[str] = (),
) -> str:
    """Write how DuckDB reads files, with a column for each folder that contains all of them.

    The value of a folder is a text, so that ``007`` stays what it is, or a day. A folder with the
    name of a column in the files is none: DuckDB would put its value in the column's place.

    paths, columns: The files, and the columns in them.
    all_paths: More files that are read beside these, which decide what is a column.
    """
    folders = {path: dict(_FOLDER.findall(path)) for path in all_paths or paths}
    shared = set.intersection(*map(set, folders.values()))
    names = {name.lower() for name in columns}
    types = {
        key: _type(key, folders.values()) for key in sorted(shared) if key.lower() not in names
    }
    if not any(key.lower() in names for of in folders.values() for key in of):
        written = ", ".join(f"{quoted(key)}: {kind}" for key, kind in types.items())
        hive = f"true, hive_types = {{{written}}}" if types else "false"
        return f"{function}({listed(paths)}, {options}, hive_partitioning = {hive})"
    groups = defaultdict[str, list[str]](list)
    for path in paths:
        values = [f", {_value(folders[path][key])}::{types[key]} as {quoted(key)}" for key in types]
        groups["".join(values)].append(path)
    parts = [
        f"select *{values} from {function}({listed(group)}, {options}, hive_partitioning = false)"  # noqa: S608
        for values, group in groups.items()
    ]
    return f"({' union all by name '.join(parts)})"


def _type(key: str, folders: Collection[Mapping[str, str]]) -> str:
    return "DATE" if all(_DAY.fullmatch(of[key]) for of in folders) else "VARCHAR"


def _value(folder: str) -> str:
    """Write the value of a folder as DuckDB reads it."""
    return "null" if folder == "__HIVE_DEFAULT_PARTITION__" else literal(unquote(folder))


def stamps_of(paths: Iterable[str]) -> Stamps:
    """Give path, size and time of each file, of which one differs once its content does."""
    stats = [(path, Path(path).stat()) for path in paths]
    return [[path, stamp.st_size, stamp.st_mtime_ns] for path, stamp in stats]
