"""Which of a monitor's labelers answers an item, where the config lists several.

The rules of a round stand in its settings, under ``parts``; each task keeps the index of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from monitor.domain.ports import Labeler

Rule = Literal["flagged", "passed", "otherwise", "checks"] | dict[str, str]
"""Whom a labeler answers for: a predicted class, items with values of segments, or the rest.

One for ``checks`` labels items that a column labels too."""

SEVERAL = "several"

COLUMN = "column"
"""The kind of a labeler that reads a column, and the annotator of its labels."""
OTHERWISE: Rule = "otherwise"
CHECKS: Rule = "checks"

ALL = "flagged and passed"
"""The role of a labeler that answers for all items."""


class Checks(NamedTuple):
    """How many items of a column's labeler people label too, and the index of who asks them."""

    items: int
    checker: int
    classes: tuple[bool, ...]
    """The predicted classes of these items."""


class AssignedLabeler(NamedTuple):
    """A labeler of a round, and the index of its rule."""

    labeler: Labeler
    part: int = 0
    rules: Sequence[Rule] = (OTHERWISE,)

    def answers(self, *, predicted: bool, segments: Mapping[str, str]) -> bool:
        """Whether it is responsible for such an item."""
        return part_of(self.rules, predicted=predicted, segments=segments) == self.part

    @property
    def role(self) -> str:
        """Text that two labelers share if they answer for the same items."""
        return role_of(self.rules, self.part)

    @property
    def title(self) -> str:
        """Words for its items, such as "flagged"; empty where it answers for all."""
        if len(self.rules) == 1:
            return ""
        rule = self.rules[self.part]
        if isinstance(rule, str):
            return rule
        return ", ".join(f"{name} = {value}" for name, value in rule.items())


def parts_of(labeling: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    """Return the settings of each labeler that a round was opened with.

    >>> parts_of({"kind": "page", "question": "Is it?"})
    [{'kind': 'page', 'question': 'Is it?'}]
    """
    own = labeling or {}
    return own["parts"] if own.get("kind") == SEVERAL else [own]


def rules_of(labeling: Mapping[str, Any] | None) -> list[Rule]:
    """Return the rule of each labeler; one that is alone answers for all items."""
    return [part.get("for", OTHERWISE) for part in parts_of(labeling)]


def column_classes(labeling: Mapping[str, Any] | None) -> dict[bool, int]:
    """Return the predicted classes that one column labels, each with the index of its labeler.

    >>> column_classes({"kind": "several", "parts": [{"for": "flagged", "kind": "column"},
    ...                                              {"for": "passed", "kind": "page"}]})
    {True: 0}
    """
    parts = parts_of(labeling)
    of_class = {flagged: _answering(parts, predicted=flagged) for flagged in (True, False)}
    return {
        flagged: indices[0]
        for flagged, indices in of_class.items()
        if len(indices) == 1 and parts[indices[0]].get("kind") == COLUMN
    }


def checks_of(labeling: Mapping[str, Any] | None) -> dict[int, Checks]:
    """Return how the labels of columns are checked, by the index of the column's labeler.

    >>> checks_of({"kind": "several", "parts": [{"for": "flagged", "kind": "column", "checks": 40},
    ...                                         {"for": "passed", "kind": "page"}]})
    {0: Checks(items=40, checker=1, classes=(True,))}
    """
    parts, whole = parts_of(labeling), column_classes(labeling)
    people = [index for index, part in enumerate(parts) if part.get("kind") != COLUMN]
    checkers = [index for index in people if parts[index].get("for") == CHECKS] or people
    return {
        index: Checks(
            part["checks"], checkers[0], tuple(up for up, of in whole.items() if of == index)
        )
        for index, part in enumerate(parts)
        if part.get("checks") and checkers
    }


_OF_DRAW = ("for", "deadline", "overlap", "checks")
"""Settings of a labeler that decided how its round was drawn and closed."""


def with_columns_of(
    opened: Mapping[str, Any] | None, today: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """Return the labelers of a round whose columns are read as those for the same items are today.

    >>> opened = {"kind": "column", "value": "label", "checks": 20}
    >>> with_columns_of(opened, {"kind": "column", "value": "fraud", "checks": 40})
    {'kind': 'column', 'value': 'fraud', 'checks': 20}
    """
    now = {role_of(rules_of(today), index): part for index, part in enumerate(parts_of(today))}
    parts = [
        {**part, **{name: value for name, value in other.items() if name not in _OF_DRAW}}
        if part.get("kind") == COLUMN
        and (other := now.get(role_of(rules_of(opened), index), {})).get("kind") == COLUMN
        else part
        for index, part in enumerate(parts_of(opened))
    ]
    return {**opened, "parts": parts} if opened and "parts" in opened else parts[0]


def _answering(parts: Sequence[Mapping[str, Any]], *, predicted: bool) -> list[int]:
    """List the labelers that may answer for items of a class, by index."""
    result = []
    for index, part in enumerate(parts):
        rule: Rule = part.get("for", OTHERWISE)
        if isinstance(rule, dict) or _applies(rule, predicted, {}):
            result.append(index)
        if isinstance(rule, str) and _applies(rule, predicted, {}):
            break
    return result


def part_of(rules: Sequence[Rule], *, predicted: bool, segments: Mapping[str, str]) -> int:
    """Return the index of the first rule that an item follows.

    >>> rules = [{"country": "CZ"}, "flagged", "otherwise"]
    >>> [part_of(rules, predicted=one, segments={"country": "DE"}) for one in (True, False)]
    [1, 2]
    """
    return next(index for index, rule in enumerate(rules) if _applies(rule, predicted, segments))


def role_of(rules: Sequence[Rule], part: int) -> str:
    """Return a text that labelers of two lists share if they answer for the same items.

    >>> [role_of(rules, 1) for rules in (["flagged", "otherwise"], ["flagged", "passed"])]
    ['passed', 'passed']
    """
    if rules[part] == CHECKS:
        return "checks"
    first = rules[: part + 1]
    if any(isinstance(rule, dict) for rule in first):
        return repr(first)
    return " and ".join(
        name
        for name in ("flagged", "passed")
        if part_of(rules, predicted=name == "flagged", segments={}) == part
    )


def _applies(rule: Rule, predicted: bool, segments: Mapping[str, str]) -> bool:
    if isinstance(rule, dict):
        return all(segments.get(name) == value for name, value in rule.items())
    return rule in {OTHERWISE, "flagged" if predicted else "passed"}


def why_unclear(rules: Sequence[Rule | None], segments: Sequence[str]) -> str | None:
    """Return why not exactly one labeler is responsible for each item; None if one is."""
    covered: set[str] = set()
    for index, rule in enumerate(rules):
        if rule == CHECKS:
            continue
        if rule is None:
            return (
                f"labeler {index + 1} does not say for which items; add `for: flagged`, "
                "`for: passed`, `for: {COLUMN: VALUE}` of a segment column, or `for: otherwise`"
            )
        if covered >= {"flagged", "passed"} or str(rule) in covered:
            return f"labeler {index + 1} gets no item: those before it answer for all of them"
        if why := _why_no_segment(rule, index, segments):
            return why
        covered |= {"flagged", "passed"} if rule == OTHERWISE else {str(rule)}
    if covered >= {"flagged", "passed"}:
        return None
    return "some items have no labeler; end the list with one that has `for: otherwise`"


def _why_no_segment(rule: Rule, index: int, segments: Sequence[str]) -> str | None:
    if not isinstance(rule, dict):
        return None
    if not rule:
        return f"labeler {index + 1} names no segment; use `for: otherwise`"
    if unknown := [name for name in rule if name not in segments]:
        columns = ", ".join(segments) or "none"
        return (
            f"{unknown[0]!r} is no segment column; name it in source.columns.segments, "
            f"which has {columns}"
        )
    return None
