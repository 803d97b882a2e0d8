"""Names, texts and types in the SQL of DuckDB."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable

from monitor.domain.values import BLANKS

NUMBERS = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\))")
WHOLE_NUMBERS = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(\d+,\s*0\))")
TIMES = re.compile(r"(DATE|TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE|TIMESTAMPTZ_NS)")
AWARE_TIMES = re.compile(r"TIMESTAMP WITH TIME ZONE|TIMESTAMPTZ_NS")
TEXTS = re.compile(r"(VARCHAR|ENUM\(.*\))", re.DOTALL)

_EXACT = 10**15  # below it 64 bits of floating point hold every whole number


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
