"""Characters that do not show, or that steer, made visible: what is stored is what is read.

PostgreSQL holds no NUL in a text, a terminal obeys an escape, some characters turn the direction of
reading, and values that look alike would be lines that nobody can distinguish.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 2000  # Characters of one text; chat services cut or refuse longer ones

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_STEERING = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters but tab and line breaks, and those that turn the direction of what follows.

Halves of a character (surrogates) too, which no page or file in UTF-8 can hold.

Joiners and spaces of other scripts are none of them: a text would not read right without.
"""


def visible(text: str) -> str:
    r"""Write control characters as their codes.

    >>> print(visible("C\x00Z\x1b[31m"))
    C\x00Z\x1b[31m
    """
    return _CONTROLS.sub(lambda match: escaped(match[0]), text)


def visible_lines(text: str) -> str:
    r"""Write what steers as its code in a text that people must read: tabs and line breaks stay.

    >>> print(visible_lines("a\x1b[31m \u202egnp.exe"))
    a\x1b[31m \u202egnp.exe
    >>> visible_lines("one\r\n\ttwo")
    'one\r\n\ttwo'
    """
    return _STEERING.sub(lambda match: escaped(match[0]), text)


def shows(char: str) -> bool:
    """Whether a character shows as itself on one line."""
    return char == " " or unicodedata.category(char)[0] not in "CZ"


def escaped(char: str) -> str:
    r"""Write a character as its code, such as ``\x1b``."""
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"  # noqa: PLR2004


def clean(text: str, longest: int = LONGEST) -> str:
    r"""Return a text on one line, with characters that do not show made visible.

    >>> print(clean("a\nb\x1b[31m \u202egnp.exe"))
    a b\x1b[31m \u202egnp.exe
    """
    line = " ".join(text.split())
    safe = "".join(char if shows(char) else escaped(char) for char in line)
    return safe if len(safe) <= longest else f"{safe[: longest - 3]}..."
