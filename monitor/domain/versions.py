"""Model versions as sources write them."""

from __future__ import annotations

import re

_WHOLE = re.compile(r"(-?\d+)([.]0)?")


def spellings(version: str | None) -> tuple[str | None, ...]:
    """Return the texts of a version: a whole number is also written as a fraction, ``7.0``.

    Files and databases do so once a value of a column is missing.

    >>> spellings("7"), spellings("7.0"), spellings("1.10")
    (('7', '7.0'), ('7', '7.0'), ('1.10',))
    """
    whole = None if version is None else _WHOLE.fullmatch(version)
    return (version,) if whole is None else (whole[1], f"{whole[1]}.0")
