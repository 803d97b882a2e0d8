"""Sentences on labels that come in runs, and on groups that no column names."""

from __future__ import annotations

from monitor.domain.setting_types import Report
from monitor.presentation.parts.view import PartView


class RunsRow(Report):
    """Labels of a predicted class that come in runs, in the order of time.

    ``labels`` names the class, ``items`` counts its labels and ``runs`` the stretches of equal
    ones, of which ``expected`` are in a random order. The labels are worth 1/``effect`` of what
    independent ones are, so up to ``alarms`` false alarms come for each one promised.
    """

    labels: str
    items: int
    runs: int
    expected: float
    effect: float
    alarms: float


class RunsView(PartView[RunsRow | None]):
    """A value of the report without a section; a notice has its sentence."""

    name = "runs"
    kind = RunsRow


def groups_question(alarms: float | None = None, empty: str | None = None) -> str:
    """Ask for the column of groups, as alarms may be ``alarms`` times as frequent as promised.

    ``empty`` is the column that is named but has no value.
    """
    often = "more frequent than"
    if alarms is not None:
        often = f"up to {alarms:.1f} times as frequent as"
    column = "source.columns.group names the column"
    if empty is not None:
        column = f"column {empty!r} (source.columns.group) has no value in any of them"
    return (
        "if such items belong together, as of one user or campaign, intervals of the rate are too "
        f"narrow and alarms {often} promised; {column}"
    )


def runs_sentence(row: RunsRow, empty: str | None = None) -> str:
    """Return the sentence that labels of a class come in runs, and what that may cost."""
    return (
        f"labels of {row.labels} items come in runs: in the order of time {row.items} labels "
        f"change {row.runs - 1} times (expected about {row.expected - 1:.0f}) and are worth about "
        f"{row.items / row.effect:.0f} independent ones; {groups_question(row.alarms, empty)}"
    )
