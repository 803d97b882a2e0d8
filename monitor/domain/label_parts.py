"""Assignment of items to labelers, if a monitor has one labeler for each predicted class.

The settings of a round list its labelers under ``parts``; each task stores the index of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, NamedTuple

from monitor.domain.ports import Labeler
from monitor.domain.setting_types import parse_duration

SEVERAL = "several"

COLUMN = "column"
"""The kind of a labeler that reads a column; also the annotator name of its labels."""

CHECKS = "checks"
"""The role of a labeler that checks items also labeled by a column."""

ALL = "flagged and passed"
"""The role of a labeler that answers for all items."""

ROLE = "for"
"""The key of a labeler's role in the settings of a round."""


class Checks(NamedTuple):
    """Number of a column's items that people label too, and the index of those people's labeler."""

    items: int
    checker: int
    classes: tuple[bool, ...]
    """The predicted classes of these items."""


class AssignedLabeler(NamedTuple):
    """A labeler of a round with its index and its role: the items that it labels."""

    labeler: Labeler
    part: int = 0
    role: str = ALL

    def answers(self, *, predicted: bool) -> bool:
        """Whether it labels the items of a predicted class."""
        return self.role in (ALL, class_name(predicted))

    @property
    def title(self) -> str:
        """Words for its items, such as "flagged"; empty if it labels all items."""
        return "" if self.role == ALL else self.role


def class_name(flagged: bool) -> Literal["flagged", "passed"]:
    """Return the name of a predicted class."""
    return "flagged" if flagged else "passed"


def parts_of(labeling: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    """Return the settings of each labeler that a round was opened with.

    >>> parts_of({"kind": "page", "question": "Is it?"})
    [{'kind': 'page', 'question': 'Is it?'}]
    """
    own = labeling or {}
    return own["parts"] if own.get("kind") == SEVERAL else [own]


def maturity_of(part: Mapping[str, Any]) -> timedelta:
    """Return the age of an item at which a labeler's first label is expected.

    >>> maturity_of({"kind": "column", "matures": "2d"}), maturity_of({"kind": "page"})
    (datetime.timedelta(days=2), datetime.timedelta(0))
    """
    matures = parse_duration(part.get("matures"))
    return matures if isinstance(matures, timedelta) else timedelta(0)


def class_parts(labeling: Mapping[str, Any] | None) -> dict[bool, int]:
    """Return the index of the labeler of each predicted class.

    >>> class_parts({"kind": "several", "parts": [{"for": "flagged", "kind": "column"},
    ...                                           {"for": "passed", "kind": "page"}]})
    {True: 0, False: 1}
    """
    # Rounds of earlier versions may have a labeler of the rest, and of values of segments.
    roles = [part.get(ROLE, "otherwise") for part in parts_of(labeling)]
    return {
        flagged: next(i for i, role in enumerate(roles) if role in ("otherwise", name))
        for flagged, name in ((True, "flagged"), (False, "passed"))
    }


def role_of(labeling: Mapping[str, Any] | None, part: int) -> str:
    """Return the role of a labeler; labelers of two rounds with equal roles label the same items.

    >>> role_of({"kind": "page"}, 0)
    'flagged and passed'
    """
    own = [class_name(up) for up, index in class_parts(labeling).items() if index == part]
    return " and ".join(own) or str(parts_of(labeling)[part][ROLE])


def column_classes(labeling: Mapping[str, Any] | None) -> dict[bool, int]:
    """Return the predicted classes labeled by a column, with the index of each one's labeler.

    >>> column_classes({"kind": "several", "parts": [{"for": "flagged", "kind": "column"},
    ...                                              {"for": "passed", "kind": "page"}]})
    {True: 0}
    """
    parts = parts_of(labeling)
    return {
        flagged: index
        for flagged, index in class_parts(labeling).items()
        if parts[index].get("kind") == COLUMN
        # In rounds of earlier versions, segments before it may have labelers of their own.
        and not any(isinstance(part.get(ROLE), dict) for part in parts[:index])
    }


def checks_of(labeling: Mapping[str, Any] | None) -> dict[int, Checks]:
    """Return the checks of column labels, by the index of the column's labeler.

    >>> checks_of({"kind": "several", "parts": [{"for": "flagged", "kind": "column", "checks": 40},
    ...                                         {"for": "passed", "kind": "page"}]})
    {0: Checks(items=40, checker=1, classes=(True,))}
    """
    parts, whole = parts_of(labeling), column_classes(labeling)
    people = [index for index, part in enumerate(parts) if part.get("kind") != COLUMN]
    checkers = [index for index in people if parts[index].get(ROLE) == CHECKS] or people
    return {
        index: Checks(
            part["checks"], checkers[0], tuple(up for up, of in whole.items() if of == index)
        )
        for index, part in enumerate(parts)
        if part.get("checks") and checkers
    }


_OF_DRAW = (ROLE, "deadline", "overlap", "checks")
"""Labeler settings that apply when a round is drawn and closed."""


def with_columns_of(
    opened: Mapping[str, Any] | None, today: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """Return a round's labelers, with column settings updated from today's labelers by role.

    >>> opened = {"kind": "column", "value": "label", "checks": 20}
    >>> with_columns_of(opened, {"kind": "column", "value": "fraud", "checks": 40})
    {'kind': 'column', 'value': 'fraud', 'checks': 20}
    """
    now = {role_of(today, index): part for index, part in enumerate(parts_of(today))}
    parts = [
        {**part, **{name: value for name, value in other.items() if name not in _OF_DRAW}}
        if part.get("kind") == COLUMN
        and (other := now.get(role_of(opened, index), {})).get("kind") == COLUMN
        else part
        for index, part in enumerate(parts_of(opened))
    ]
    return {**opened, "parts": parts} if opened and "parts" in opened else parts[0]
