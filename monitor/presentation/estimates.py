"""Remarks on estimates: why there is none, and which few labels decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from monitor.presentation.numbers import NOT_ESTIMABLE, percent_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


BASES = {"round": "this round alone", "pooled": "with earlier rounds"}
"""What an estimate rests on, as tables head it."""


POOLED_INTERVALS = "intervals with earlier rounds are of calibrated pooling"


def pooled_intervals_text(coverage: tuple[float, float] | None) -> str:
    """Say what pooled intervals are, and how often they held the truth where that was measured.

    >>> pooled_intervals_text(None)
    'intervals with earlier rounds are of calibrated pooling'
    >>> pooled_intervals_text((0.9, 0.98)).split(", and ")[1]
    'in at least 98 % in quiet times'
    """
    if coverage is None:
        return POOLED_INTERVALS
    changed, quiet = coverage
    return (
        f"{POOLED_INTERVALS}: they held the truth in at least {percent_text(changed)} of simulated "
        "rounds after changes of 3 to 15 points either way, and in at least "
        f"{percent_text(quiet)} in quiet times"
    )


class Reasoned(Protocol):
    """An estimate that may have no value."""

    @property
    def reason(self) -> str | None:
        """Why it has none."""


class Deciding(Protocol):
    """A predicted class whose few labels decide an estimate."""

    @property
    def predicted(self) -> str:
        """``flagged`` or ``passed``."""

    @property
    def answer(self) -> str:
        """The rarer answer there, ``positive`` or ``negative``."""

    @property
    def worth(self) -> float:
        """How many labels with that answer its labels are worth."""

    @property
    def moves(self) -> float | None:
        """How far one of them moves the metric, where those of one stratum decide."""


def reason_text(reason: Reasoned) -> str:
    """Say why there is no number."""
    return f"{NOT_ESTIMABLE}: {reason.reason or 'no reason was kept'}"


def caution_text(classes: Sequence[Deciding]) -> str | None:
    """Say that few labels decide a metric, and which; None where none do.

    >>> from monitor.domain.report import DecidingRow
    >>> caution_text([DecidingRow(predicted="passed", answer="positive", worth=2.1)])
    'few labels decide this, about 2 positive among the passed'
    >>> caution_text([DecidingRow(predicted="passed", answer="positive", worth=3, moves=0.031)])
    'few labels decide this, 3 positive in one band of the passed: each moves it by 3.1 points'
    >>> caution_text([DecidingRow(predicted="passed", answer="positive", worth=0, moves=0.1)])
    'few labels decide this, no positive in a part of the passed: one would move it by 10 points'
    """
    if not classes:
        return None
    return f"few labels decide this, {' and '.join(_named(one) for one in classes)}"


def _named(one: Deciding) -> str:
    if one.moves is not None and one.worth == 0:
        return (
            f"no {one.answer} in a part of the {one.predicted}: one would move it by "
            f"{100 * one.moves:.2g} points"
        )
    if one.moves is None:
        return f"about {one.worth:.0f} {one.answer} among the {one.predicted}"
    return (
        f"{one.worth:.0f} {one.answer} in one band of the {one.predicted}: each moves it by "
        f"{100 * one.moves:.2g} points"
    )


def caution_lines(cautions: Iterable[tuple[str, str | None]]) -> list[str]:
    """Say of which metrics a caution holds, those of one caution together.

    >>> caution_lines([("recall", "few labels decide this"), ("f1", "few labels decide this")])
    ['recall, f1: few labels decide this']
    """
    found: dict[str, dict[str, None]] = {}
    for metric, caution in cautions:
        if caution is not None:
            found.setdefault(caution, {})[metric] = None
    return [f"{', '.join(metrics)}: {caution}" for caution, metrics in found.items()]
