"""Delay of labels, measured from the times in the file that `init` reads."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.config.column_guess import Chosen, Described

_LABEL_TIME = re.compile(
    r"label|known|outcome|truth|report|confirm|settle|resolve|chargeback|receive", re.IGNORECASE
)
_TIME_TYPE = re.compile(r"(TIMESTAMP|DATETIME).*", re.IGNORECASE)
_FEWEST = 20  # labels: fewer say little of their delays
_SHARE = 0.95  # of the labels that are to be known
_DAY = timedelta(days=1)


class LabelDelay(NamedTuple):
    """The column with the time of a label, and the days after which 95 % of them were known."""

    column: str
    days: int
    labels: int


def label_delay(described: Described, chosen: Chosen) -> LabelDelay | None:
    """Measure the delay of labels from the first rows; None if not exactly one column has it.

    Recent rows only have labels that arrived quickly, so each delay counts up to the age of its row
    (`monitor.stats.labels.delays.arrival_curve`).
    """
    types = described.columns()
    taken = {chosen.id, chosen.time, chosen.label, chosen.predicted, chosen.score}
    named = [
        name
        for name, kind in types.items()
        if name not in taken and _TIME_TYPE.fullmatch(kind) and _LABEL_TIME.search(name)
    ]
    if chosen.time is None or len(named) != 1:
        return None
    [column] = named
    values = described.first_values({name: types[name] for name in (chosen.time, column)})
    pairs = list(zip(values[chosen.time], values[column], strict=True))
    both = [(at, seen) for at, seen in pairs if _are_comparable(at, seen) and at <= seen]
    if len(both) < _FEWEST:
        return None
    return LabelDelay(column, max(1, math.ceil(_enough(both))), len(both))


def _are_comparable(*values: object) -> bool:
    zones = [each.tzinfo is None for each in values if isinstance(each, datetime)]
    return len(zones) == len(values) and len({*zones}) == 1


def _enough(pairs: Sequence[tuple[datetime, datetime]]) -> float:
    from monitor.stats.labels.delays import Arrivals, arrival_curve  # noqa: PLC0415  scipy

    newest = max(seen for _, seen in pairs)
    arrivals = []
    for at, seen in pairs:
        age = (seen - at) / _DAY
        arrivals.append(Arrivals(age, age, 1, (newest - at) / _DAY))
    return arrival_curve(arrivals, coarse=0.0).age_of(_SHARE)
