"""What is written in the SQL of DuckDB: names, texts, types, and files with their folders.

A folder called ``column=value`` is a column of the files in it, unless they have such a column.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

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
    """Write how DuckDB reads files, with a column for each folder that they all are in.

    The value of a folder is a text, so that ``007`` stays what it is, or a day. Where the files
    have a column of a folder's name, no folder is one: DuckDB would put its value in their place.

    paths, columns: The files, and the columns in them.
    all_paths: More files that are read beside these, which decide what is a column.
    """
    folders = [dict(_FOLDER.findall(path)) for path in all_paths or paths]
    keys = {key for key in folders[0] if all(key in names for names in folders)}
    file_columns = {name.lower() for name in columns}
    if not keys or any(key.lower() in file_columns for key in keys):
        return f"{function}({listed(paths)}, {options}, hive_partitioning = false)"
    types = ", ".join(f"{quoted(key)}: {_type(key, folders)}" for key in sorted(keys))
    hive = f"hive_partitioning = true, hive_types = {{{types}}}"
    return f"{function}({listed(paths)}, {options}, {hive})"


def _type(key: str, folders: Sequence[Mapping[str, str]]) -> str:
    return "DATE" if all(_DAY.fullmatch(of[key]) for of in folders) else "VARCHAR"


def stamps_of(paths: Iterable[str]) -> Stamps:
    """Give path, size and time of each file, of which one differs once its content does."""
    stats = [(path, Path(path).stat()) for path in paths]
    return [[path, stamp.st_size, stamp.st_mtime_ns] for path, stamp in stats]
