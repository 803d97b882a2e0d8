"""A pilot of a judge: items that it and people have labeled, before anyone pays for more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import stats

from monitor.evaluation.rows import Column, column_of, read_rows, read_table
from monitor.rounds.forecast.plan_window import AssumedJudge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

_JEFFREYS = 0.5
_ENDS = (0.025, 0.975)


def read_pilot(pilot: pd.DataFrame | Path | str) -> AssumedJudge:
    """Read a judge's rates from labeled items, by predicted class where that is known.

    A class without a positive, or without a negative, has the rate of all items.

    Raises `InputRefused` if the file or a column cannot be used.
    """
    frame = pilot if isinstance(pilot, pd.DataFrame) else read_table(Path(pilot), "the pilot")
    rows = read_rows(_column(frame, "label"), predicted=_column(frame, "verdict"))
    yes, positive = rows.flagged, rows.positive
    flagged = passed = np.ones(len(rows), dtype=np.bool_)
    if "predicted" in frame.columns:
        columns = _column(frame, "label"), _column(frame, "predicted")
        flagged = read_rows(columns[0], predicted=columns[1]).flagged
        passed = ~flagged
    return AssumedJudge(
        tpr=(_share(yes, positive, flagged), _share(yes, positive, passed)),
        fpr=(_share(yes, ~positive, flagged), _share(yes, ~positive, passed)),
        pilot=_source(yes, positive),
    )


def _column(frame: pd.DataFrame, name: str) -> Column:
    return Column(f"column {name!r} of the pilot", column_of(frame, name, "the pilot"))


def _share(yes: Flags, answer: Flags, of_class: Flags) -> float:
    of = answer & of_class if (answer & of_class).any() else answer
    return float((yes[of].sum() + _JEFFREYS) / (of.sum() + 2 * _JEFFREYS))


def _source(yes: Flags, positive: Flags) -> str:
    """Describe how many items the rates come from, and how well these know them."""
    ends = []
    for of in (positive, ~positive):
        hits, size = int(yes[of].sum()), int(of.sum())
        low, high = (
            100 * float(stats.beta.ppf(end, hits + _JEFFREYS, size - hits + _JEFFREYS))
            for end in _ENDS
        )
        ends.append(f"{low:.3g} to {high:.3g} %")
    return (
        f"Its rates are those of a pilot of {len(yes):,} items, {int(positive.sum()):,} of them "
        f"positive: 95 % intervals reach from {ends[0]} of the positives, and from {ends[1]} of "
        "the negatives."
    )
