"""Characters that do not show, made visible, so that what is stored and shown is what is read.

PostgreSQL holds no NUL in a text, a terminal obeys an escape, and two values that look alike but
are not would be two lines that nobody can tell apart.
"""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BUT_LINES = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    r"""Write control characters as their codes.

    >>> print(visible("C\x00Z\x1b[31m"))
    C\x00Z\x1b[31m
    """
    return _CONTROLS.sub(_code, text)


def visible_lines(text: str) -> str:
    r"""Write control characters as their codes, but for tabs and the ends of lines.

    >>> print(visible_lines("one\ntwo\x00"))
    one
    two\x00
    """
    return _BUT_LINES.sub(_code, text)


def _code(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]):02x}"
