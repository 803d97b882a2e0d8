"""A monitor with a labeler for each predicted class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import SerializeAsAny, ValidationInfo

from monitor.config.adapters import LABELERS
from monitor.domain.errors import SettingRefused
from monitor.domain.label_parts import CHECKS, ROLE, SEVERAL, checks_of
from monitor.domain.setting_types import Settings
from monitor.domain.settings import Labeling

AnyLabeling = Annotated[SerializeAsAny[Labeling], LABELERS]

_SEPARATE = {"column", "files"}
"""Kinds that a monitor may use twice, since each labeler keeps its tasks separate."""

_LIST = (
    "lists of labelers were removed: write {flagged: ..., passed: ...}, a labeler under each; "
    "`checks: ...` beside them is one that checks a column, and none is for a segment"
)


class _ByClass(Settings):
    """A labeler for each predicted class, and optionally one that checks labels of columns."""

    flagged: AnyLabeling
    passed: AnyLabeling
    checks: AnyLabeling | None = None


class SeveralLabelers(Labeling):
    """The labelers of a monitor by role: ``flagged``, ``passed``, and optionally ``checks``.

    The round gets the longest of their durations and the largest overlap.
    """

    kind: Literal["several"] = "several"
    parts: dict[str, SerializeAsAny[Labeling]]

    def own(self) -> dict[str, Any]:
        """Return the settings of each labeler that a round stores."""
        parts = [
            {
                ROLE: role,
                **part.own(),
                **part.model_dump(include={"overlap"}, exclude_defaults=True),
                **part.model_dump(mode="json", include={"deadline"}),
            }
            for role, part in self.parts.items()
        ]
        return {"kind": SEVERAL, "parts": parts}


def read_labeling(value: object, info: ValidationInfo) -> object:
    """Return the settings of labelers by class; return a single labeler's section unchanged."""
    by_class = _by_role(value) if isinstance(value, list) else value
    if not (isinstance(by_class, dict) and _ByClass.model_fields.keys() & by_class.keys()):
        return value
    if "kind" in by_class:
        return value
    read = dict(_ByClass.model_validate(by_class, context=info.context))
    parts = {role: part for role, part in read.items() if part is not None}
    _refuse_misfits(parts)
    _refuse_checks(parts)
    return SeveralLabelers(
        parts=parts,
        deadline=max(part.deadline for part in parts.values()),
        late_labels=max(part.late_labels for part in parts.values()),
        overlap=max(part.overlap for part in parts.values()),
        adjudicator=next((part.adjudicator for part in parts.values() if part.adjudicator), None),
    )


def _by_role(value: list[Any]) -> dict[str, Any]:
    """Convert a list with `for: flagged` and `for: passed`, the syntax of earlier versions."""
    parts = [dict(part) for part in value if isinstance(part, dict)]
    by_role = {str(part.pop(ROLE, None)): part for part in parts}
    if len(by_role) < len(value) or not by_role.keys() <= _ByClass.model_fields.keys():
        raise ValueError(_LIST)
    return by_role


def _refuse_misfits(parts: Mapping[str, Labeling]) -> None:
    kinds = [str(part.own()["kind"]) for part in parts.values()]
    adjudicators = {part.adjudicator for part in parts.values()} - {None}
    for index, (role, part) in enumerate(parts.items()):
        kind = kinds[index]
        if kind not in _SEPARATE and kind in kinds[:index]:
            why = f"a round is one project of {kind} with one question; name {kind} once"
            raise SettingRefused(setting=f"{role}.kind", why=why)
        if getattr(part, "answer", None) == "class":
            why = (
                "people can choose a class only if a block of classes has one labeler; "
                "ask for yes or no"
            )
            raise SettingRefused(setting=f"{role}.answer", why=why)
        if part.adjudicator is not None and len(adjudicators) > 1:
            why = "a round has one adjudicator; name the same one everywhere"
            raise SettingRefused(setting=f"{role}.adjudicator", why=why)


def _refuse_checks(parts: Mapping[str, Labeling]) -> None:
    checks = checks_of(SeveralLabelers(parts=dict(parts)).own())
    checker = parts.get(CHECKS)
    if checker is not None and checker.own()["kind"] == "column":
        why = "people check the labels of a column; name a kind that asks them, such as page"
        raise SettingRefused(setting=f"{CHECKS}.kind", why=why)
    checked = [role for role, part in parts.items() if getattr(part, "checks", None)]
    if checker is not None and not checked:
        why = "no column has `checks`, the number of its items that are checked"
        raise SettingRefused(setting=CHECKS, why=why)
    if checked and not checks:
        why = 'no labeler asks people; add a line such as checks: {kind: page, question: "..."}'
        raise SettingRefused(setting=f"{checked[0]}.checks", why=why)


def labelers_of(labeling: Labeling) -> list[tuple[str, Labeling]]:
    """Return each labeler of a monitor, with its path in the config."""
    if not isinstance(labeling, SeveralLabelers):
        return [("labeling", labeling)]
    return [(f"labeling.{role}", part) for role, part in labeling.parts.items()]
