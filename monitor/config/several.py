"""A monitor with several labelers, each of which answers for some of the items."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import SerializeAsAny, TypeAdapter, ValidationInfo

from monitor.config.adapters import LABELERS
from monitor.domain.errors import SettingRefused
from monitor.domain.label_parts import CHECKS, SEVERAL, checks_of
from monitor.domain.settings import Labeling

Parts = tuple[Annotated[SerializeAsAny[Labeling], LABELERS], ...]
_PARTS: TypeAdapter[tuple[Labeling, ...]] = TypeAdapter(Parts)


_SEPARATE = {"column", "files"}
"""Kinds that may come twice: what one of them is asked is apart from what another is."""


class SeveralLabelers(Labeling):
    """The labelers of a monitor, in the order of the config.

    The round has the longest of their times, and the largest overlap.
    """

    kind: Literal["several"] = "several"
    parts: Parts

    def own(self) -> dict[str, Any]:
        """Return what a round keeps of each labeler."""
        parts = [
            {
                **part.own(),
                **part.model_dump(
                    include={"items", "overlap"}, exclude_defaults=True, by_alias=True
                ),
                **part.model_dump(mode="json", include={"deadline"}),
            }
            for part in self.parts
        ]
        return {"kind": SEVERAL, "parts": parts}

    @property
    def matures(self) -> timedelta:
        """Age of an item at which its first label is expected."""
        return min(getattr(part, "matures", timedelta(0)) for part in self.parts)


def read_labeling(value: object, info: ValidationInfo) -> object:
    """Make settings of a list of several labelers; leave what is no list to others."""
    if not isinstance(value, list):
        return value
    parts = _PARTS.validate_python(value, context=info.context)
    if len(parts) < 2:  # noqa: PLR2004
        message = "a list has two labelers or more; write one alone as a mapping"
        raise ValueError(message)
    _refuse_misfits(parts)
    _refuse_checks(parts)
    return SeveralLabelers(
        parts=parts,
        deadline=max(part.deadline for part in parts),
        late_labels=max(part.late_labels for part in parts),
        overlap=max(part.overlap for part in parts),
        adjudicator=next((part.adjudicator for part in parts if part.adjudicator), None),
    )


def _refuse_misfits(parts: Sequence[Labeling]) -> None:
    kinds = [str(part.own()["kind"]) for part in parts]
    for index, kind in enumerate(kinds):
        if kind not in _SEPARATE and kind in kinds[:index]:
            why = f"a round is one project of {kind} with one question; list {kind} once"
            raise SettingRefused(setting=f"{index}.kind", why=why)
    adjudicators = {part.adjudicator for part in parts} - {None}
    for index, part in enumerate(parts):
        if getattr(part, "answer", None) == "class":
            why = (
                "people choose a class where a block of classes has one labeler; ask for yes or no"
            )
            raise SettingRefused(setting=f"{index}.answer", why=why)
        if part.adjudicator is not None and len(adjudicators) > 1:
            why = "one person decides in a round; name the same one everywhere"
            raise SettingRefused(setting=f"{index}.adjudicator", why=why)


def _refuse_checks(parts: Sequence[Labeling]) -> None:
    checks = checks_of(SeveralLabelers(parts=tuple(parts)).own())
    kinds = [part.own()["kind"] for part in parts]
    for index, part in enumerate(parts):
        if part.items == CHECKS and kinds[index] == "column":
            why = "people check the labels of a column; name a kind that asks them, such as page"
            raise SettingRefused(setting=f"{index}.kind", why=why)
        if part.items == CHECKS and CHECKS in [each.items for each in parts[:index]]:
            why = "another line has `for: checks` already; leave one out"
            raise SettingRefused(setting=f"{index}.for", why=why)
        if part.items == CHECKS and not any(getattr(each, "checks", None) for each in parts):
            why = "no column of the list has `checks`, the number of its items that are checked"
            raise SettingRefused(setting=f"{index}.for", why=why)
        if getattr(part, "checks", None) is None:
            continue
        if index not in checks:
            why = (
                "nobody of the list asks people; add a line such as "
                '{for: checks, kind: page, question: "..."}'
            )
            raise SettingRefused(setting=f"{index}.checks", why=why)
        if not checks[index].classes:
            why = (
                "errors are estimated of a predicted class that this column labels alone; "
                "give it `for: flagged`, `for: passed` or `for: otherwise`, without segments"
            )
            raise SettingRefused(setting=f"{index}.checks", why=why)


def labelers_of(labeling: Labeling) -> list[tuple[str, Labeling]]:
    """Return each labeler of a monitor, with its path in the config."""
    if not isinstance(labeling, SeveralLabelers):
        return [("labeling", labeling)]
    return [(f"labeling.{index}", part) for index, part in enumerate(labeling.parts)]
