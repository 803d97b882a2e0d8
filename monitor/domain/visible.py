"""Escaping of invisible and control characters, so that people see exactly what is stored.

PostgreSQL cannot store NUL in a text, a terminal obeys escape sequences, some characters change the
reading direction, and values that look the same would be indistinguishable.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 2000  # Characters of one text; chat services cut or refuse longer ones

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_STEERING = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters except tab and line breaks, and those that change the reading direction.

Includes surrogates, which UTF-8 cannot encode.

Excludes joiners and spaces of other scripts, which their texts need.
"""


def visible(text: str) -> str:
    r"""Replace control characters by their codes.

    >>> print(visible("C\x00Z\x1b[31m"))
    C\x00Z\x1b[31m
    """
    return _CONTROLS.sub(lambda match: escaped(match[0]), text)


def visible_lines(text: str) -> str:
    r"""Replace control and direction characters by their codes, but keep tabs and line breaks.

    >>> print(visible_lines("a\x1b[31m \u202egnp.exe"))
    a\x1b[31m \u202egnp.exe
    >>> visible_lines("one\r\n\ttwo")
    'one\r\n\ttwo'
    """
    return _STEERING.sub(lambda match: escaped(match[0]), text)


def shows(char: str) -> bool:
    """Whether a character is visible and stays on the line; a space counts."""
    return char == " " or unicodedata.category(char)[0] not in "CZ"


def escaped(char: str) -> str:
    r"""Return the code of a character, such as ``\x1b``."""
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"  # noqa: PLR2004


def clean(text: str, longest: int = LONGEST) -> str:
    r"""Return a text on one line, with invisible characters replaced by their codes.

    >>> print(clean("a\nb\x1b[31m \u202egnp.exe"))
    a b\x1b[31m \u202egnp.exe
    """
    line = " ".join(text.split())
    safe = "".join(char if shows(char) else escaped(char) for char in line)
    return safe if len(safe) <= longest else f"{safe[: longest - 3]}..."
