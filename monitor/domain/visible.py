"""Characters that steer a terminal or turn the direction of reading, made visible."""

from __future__ import annotations

import re
import unicodedata

_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and line breaks, and those that turn the direction of what follows.

Joiners and spaces of other scripts are none of them: a text would not read right without.
"""


def shows(char: str) -> bool:
    """Whether a character shows as itself on one line."""
    return char == " " or unicodedata.category(char)[0] not in "CZ"


def escaped(char: str) -> str:
    r"""Write a character as its code, such as ``\x1b``."""
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"  # noqa: PLR2004


def harmless(text: str) -> str:
    r"""Make a text that people must read as it is harmless: line breaks and tabs stay.

    Examples
    --------
    >>> print(harmless("a\x1b[31m \u202egnp.exe"))
    a\x1b[31m \u202egnp.exe
    >>> harmless("one\r\n\ttwo")
    'one\r\n\ttwo'
    """
    return _STEERING.sub(lambda found: escaped(found[0]), text)
