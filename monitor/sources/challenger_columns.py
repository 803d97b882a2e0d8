"""What a challenger decided, in SQL: its decision on a row, and counts of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import SourceRefused
from monitor.files.relations import at_threshold
from monitor.files.words import NUMBERS, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from monitor.domain.challenger import Challenger
    from monitor.files.relations import OpenTable

COUNTED = (
    "{'flagged': count(*) filter (where challenged), "
    "'undecided': count(*) filter (where challenged is null), "
    "'low': min(challenger_score), 'high': max(challenger_score)}"
)


def class_text(column: str) -> str:
    """Write the text of a predicted value in SQL; null where there is none."""
    return f"nullif(nullif(trim(cast({column} as varchar)), ''), 'nan')"


def why_no_challenger(
    challenger: Challenger, shown: Collection[str], own: tuple[str | None, float | None]
) -> str | None:
    """Say why a challenger cannot be one; None if it can.

    ``shown`` are the columns that labelers see, ``own`` is the column and threshold by which the
    monitored classifier flags.
    """
    if challenger.column in shown:
        return (
            f"{challenger.column!r} is also in columns.show; people who see it label what the "
            "challenger said, so leave it out there"
        )
    if (challenger.column, challenger.threshold) == own:
        return "it flags by the classifier's own rule; name another column or threshold"
    return None


@dataclass(frozen=True)
class ChallengerColumns:
    """A challenger and the table that should hold its decisions."""

    table: OpenTable
    challenger: Challenger | None

    @cached_property
    def fault(self) -> str | None:
        """Why its decisions cannot be read; None if they can.

        Another classifier's fault keeps no round of the monitored one from being drawn.
        """
        if self.challenger is None:
            return None
        by_score = self.challenger.predicted is None
        column, setting = (
            self.challenger.column,
            f"challenger.{'score' if by_score else 'predicted'}",
        )
        try:
            kind = self.table.need(column, setting)
            if by_score and not self.table.is_text and not NUMBERS.fullmatch(kind):
                raise self.table.refuse_type(column, setting, "numbers")
        except SourceRefused as error:
            return str(error)
        return None

    @property
    def read(self) -> Challenger | None:
        """The challenger, if its decisions can be read."""
        return None if self.fault is not None else self.challenger

    @property
    def names(self) -> list[str]:
        """What is kept of each item that is drawn."""
        return [] if self.read is None else ["challenged"]

    @property
    def counted(self) -> str:
        """Count what it decided on the rows of a bucket."""
        return "null" if self.read is None else COUNTED

    def parts(self, is_positive: Callable[[str], str], values: dict[str, Any]) -> dict[str, str]:
        """Read its decision, null where it made none, and its finite score.

        ``is_positive`` writes how the text of a predicted value is read.
        """
        if self.read is None:
            return {}
        column = quoted(self.read.column)
        if self.read.predicted is not None:
            flags = is_positive(class_text(column))
            return {"challenged": flags, "challenger_score": "cast(null as double)"}
        values["challenger"] = self.read.threshold
        score = f"try_cast({column} as double)"
        finite = f"case when isfinite({score}) then {score} end"
        finite = at_threshold(finite, self.read.threshold, values, "challenger")
        return {"challenged": f"{finite} >= $challenger", "challenger_score": finite}
