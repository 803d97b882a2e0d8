"""Sentences about a round that was restated, and of one that cannot be."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from monitor.domain.report import EstimateRow, RestatedRow, find_row
from monitor.presentation.numbers import number_text, plural

_MOST_SHOWN = 3  # restatements of one round
_MOST_NAMES = 20
_MOST_ROUNDS = 6  # that a line names one by one


def restated_text(row: RestatedRow) -> str:
    """Describe who restated a round, when and why, and what stood there before."""
    what = "restated" if row.own else f"pools {_rounds(row.rounds)}, restated"
    text = f"{what} {row.at:%Y-%m-%d} by {row.by}: {row.reason.strip().rstrip('.')}"
    replaced = (f"{metric} {best_text(row.before, metric)}" for metric in ("precision", "recall"))
    return f"{text}; before: {', '.join(replaced)}"


def restated_lines(rows: Sequence[RestatedRow]) -> list[str]:
    """Describe the last restatements of a round, and how many are left out, if any."""
    lines = [f"version {row.version}: {restated_text(row)}" for row in rows[-_MOST_SHOWN:]]
    omitted = len(rows) - _MOST_SHOWN
    if omitted > 0:
        are = "is" if omitted == 1 else "are"
        lines.append(f"{plural(omitted, 'earlier restatement')} {are} in report.json")
    return lines


def not_an_annotator_text(monitor: str, name: str, existing: Collection[str]) -> str:
    """Return the sentence that no annotator has this name, and which names there are."""
    names = [repr(one) for one in sorted(existing)]
    more_names = len(names) - _MOST_NAMES
    more = [f"{more_names:,} more"] if more_names > 0 else []
    who = ", ".join([*names[:_MOST_NAMES], *more]) or "nobody"
    return (
        f"{name!r} labeled none of the rounds of {monitor} that can be restated here; "
        f"{who} did: give one of these names to --without"
    )


def _rounds(numbers: Sequence[int]) -> str:
    if len(numbers) > _MOST_ROUNDS:
        return f"{len(numbers)} rounds from {numbers[0]} to {numbers[-1]}"
    return f"round{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def best_text(rows: Sequence[EstimateRow], metric: str) -> str:
    """Write the best estimate of a metric that there is, with earlier rounds before alone."""
    best = (find_row(rows, metric, basis) for basis in ("pooled", "round"))
    return number_text(next((row for row in best if row and row.point is not None), None))
