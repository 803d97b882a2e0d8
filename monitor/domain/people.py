"""Roles and names of people; imports little, since the command line's help needs the roles."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum

from monitor.domain.visible import shows

_LONGEST_NAME = 100
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
"""Letters and marks that do not show, so that two names would look the same."""


class Role(StrEnum):
    """Permissions of a user of the pages."""

    LABELER = "labeler"  # Answers tasks, and sees the labeling page only
    VIEWER = "viewer"  # Sees how the monitors fare, and labels nothing
    ADMIN = "admin"  # Does both, and sees how others label

    @property
    def labels(self) -> bool:
        """Whether this role may use the labeling page."""
        return self is not Role.VIEWER

    @property
    def views(self) -> bool:
        """Whether this role may see the status pages."""
        return self is not Role.LABELER


def annotator_name(text: str) -> str:
    r"""Normalize the name of an annotator; raises `ValueError` if it cannot be used.

    Wide and narrow forms of a letter are equal, and so are compositions of letters and marks.

    >>> annotator_name("  \uff21\uff44\uff41   Lovelace ")
    'Ada Lovelace'
    """
    name = " ".join(unicodedata.normalize("NFKC", text).split())
    if not name:
        message = "Write a name: answers are kept under it."
        raise ValueError(message)
    if len(name) > _LONGEST_NAME:
        message = f"A name has up to {_LONGEST_NAME} characters; this one has {len(name)}."
        raise ValueError(message)
    if _UNSEEN.search(name) or not all(map(shows, name)):
        message = "A name has letters, digits and signs that show; leave the others out."
        raise ValueError(message)
    return name


def similar_name(name: str, other: str) -> bool:
    """Whether two names differ only in case or in the forms of letters.

    >>> similar_name("Ada Weiß", "ada weiss"), similar_name("ada", "adam")
    (True, False)
    """
    return _plain(name) == _plain(other)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
