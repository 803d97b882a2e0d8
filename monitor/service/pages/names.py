"""Names under which answers are kept."""

from __future__ import annotations

import re
import unicodedata

from monitor.domain.visible import shows

LONGEST_NAME = 100
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
"""Letters and marks that leave no trace, so that two names would look the same."""


def annotator_name(text: str) -> str:
    """Read the name of who labels; a `ValueError` says what is wrong with it.

    Wide and narrow forms of a letter are the same, and so are compositions of letters and marks.

    >>> annotator_name("  Ada   Lovelace ")
    'Ada Lovelace'
    """
    name = " ".join(unicodedata.normalize("NFKC", text).split())
    if not name:
        message = "Write a name: answers are kept under it."
        raise ValueError(message)
    if len(name) > LONGEST_NAME:
        message = f"A name has up to {LONGEST_NAME} characters; this one has {len(name)}."
        raise ValueError(message)
    if _UNSEEN.search(name) or not all(map(shows, name)):
        message = "A name has letters, digits and signs that show; leave the others out."
        raise ValueError(message)
    return name


def similar_name(name: str, other: str) -> bool:
    """Whether two names differ in capitals, or in the form of a letter, at most.

    >>> similar_name("Ada Weiß", "ada weiss"), similar_name("ada", "adam")
    (True, False)
    """
    return _plain(name) == _plain(other)


def _plain(name: str) -> str:
    """Write a name without what people overlook."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
