"""Numbers, limits and times in a few characters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Protocol

from monitor.fixed_text import fixed_texts, significant_text

NOT_ESTIMABLE = "not estimable"

WIDE = 10  # From here on a number needs no third digit
_LEAST_EVIDENCE, _MOST_EVIDENCE = 1e-3, 1e6  # Beyond, the digits tell nobody anything
_MOST_DIGITS = 6  # Of a share near all; more would show noise of floating point

_SIDES = {"at_least": "at least", "at_most": "at most"}
_SIGNS = {"at_least": "≥", "at_most": "≤"}


class PointAndInterval(Protocol):
    """An estimate as every layer has it."""

    @property
    def point(self) -> float | None:
        """Posterior mean, None if undefined."""

    @property
    def low(self) -> float | None:
        """Lower end."""

    @property
    def high(self) -> float | None:
        """Upper end."""


def interval_text(estimate: PointAndInterval, digits: int = 3) -> str:
    """Write a point and its interval for a table: ``0.860 [0.803, 0.909]``."""
    if estimate.point is None or estimate.low is None or estimate.high is None:
        return NOT_ESTIMABLE
    if max(abs(estimate.low), abs(estimate.high)) >= WIDE:
        digits = 1
    point, low, high = fixed_texts((estimate.point, estimate.low, estimate.high), digits)
    return f"{point} [{low}, {high}]"


def range_text(low: float, high: float, digits: int = 3) -> str:
    """Write the ends of an interval.

    >>> range_text(0.8034, 0.9088), range_text(0, 0.0000121)
    ('[0.803, 0.909]', '[0.000, 0.000012]')
    """
    return f"[{', '.join(fixed_texts((low, high), digits))}]"


def score_range_text(low: float | None, high: float | None) -> str:
    """Describe which scores a stratum holds.

    >>> score_range_text(0.5, 0.7), score_range_text(None, 0.1), score_range_text(None, None)
    ('0.5 to 0.7', '… to 0.1', 'all')
    """
    if low is None and high is None:
        return "all"
    ends = ("…" if end is None else significant_text(end) for end in (low, high))
    return " to ".join(ends)


def difference_text(estimate: PointAndInterval) -> str:
    """Write a difference and its interval, with their signs: ``-0.020 [-0.041, +0.003]``."""
    if estimate.point is None or estimate.low is None or estimate.high is None:
        return NOT_ESTIMABLE
    return f"{estimate.point:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"


def number_text(row: PointAndInterval | None) -> str:
    """Write a point and its interval for a sentence: ``0.86 (0.80 to 0.91)``."""
    if row is None or row.point is None or row.low is None or row.high is None:
        return NOT_ESTIMABLE
    point, low, high = fixed_texts((row.point, row.low, row.high), 2)
    return f"{point} ({low} to {high})"


def digits_text(point: float, low: float, high: float) -> str:
    """Write a point and its interval where they may be of any size.

    >>> digits_text(0.00123, 0.0005, 0.00258)
    '0.00123 (0.0005 to 0.00258)'
    """
    point_text, low_text, high_text = map(significant_text, (point, low, high))
    return f"{point_text} ({low_text} to {high_text})"


def percent_text(share: float, digits: int = 3) -> str:
    """Write a share in percent; what is not all is not written as 100, up to six digits.

    >>> percent_text(0.04567), percent_text(0.04567, 2), percent_text(0.997, 2)
    ('4.57 %', '4.6 %', '99.7 %')
    >>> percent_text(0.9996), percent_text(1, 2)
    ('99.96 %', '100 %')
    """
    percent = 100 * share
    if share >= 0.99:  # noqa: PLR2004  two digits would write 99.7 as 1e+02
        enough = (
            more for more in range(max(digits, 3), _MOST_DIGITS) if f"{percent:.{more}g}" != "100"
        )
        digits = next(enough, _MOST_DIGITS)
    return f"{significant_text(percent, digits)} %"


def signed_text(value: float) -> str:
    """Write two digits with their sign; 0 has none.

    >>> signed_text(0.0551), signed_text(-0.2), signed_text(-0.001)
    ('+0.06', '-0.20', '0.00')
    """
    text = f"{value:+.2f}"
    return text[1:] if round(value, 2) == 0 else text


def limit_text(metric: str, side: str, value: float) -> str:
    """Write a limit in words.

    >>> limit_text("precision", "at_least", 0.8)
    'precision at least 0.8'
    """
    return f"{metric} {bound_text(side, value)}"


def bound_text(side: str, value: float) -> str:
    """Write which side of which value is wanted, in words: ``at least 0.8``."""
    return f"{_SIDES[side]} {value:g}"


def bound_sign(side: str, value: float) -> str:
    """Write which side of which value is wanted, for a table: ``≥ 0.8``."""
    return f"{_SIGNS[side]} {value:g}"


def limits_text(limits: Mapping[str, float]) -> str:
    """Write limits as the config has them.

    >>> limits_text({"precision": 0.8, "recall": 0.55})
    '{precision: 0.8, recall: 0.55}'
    """
    return f"{{{', '.join(f'{metric}: {value:g}' for metric, value in limits.items())}}}"


def evidence_text(log_evidence: float) -> str:
    """Write evidence of which the logarithm is known.

    >>> evidence_text(7.1546), evidence_text(4.6434), evidence_text(-9), evidence_text(800)
    ('1,280', '104', 'under 0.001', 'over 1,000,000')
    """
    if log_evidence < math.log(_LEAST_EVIDENCE):
        return f"under {_LEAST_EVIDENCE:g}"
    if log_evidence > math.log(_MOST_EVIDENCE):
        return f"over {_MOST_EVIDENCE:,.0f}"
    return significant_text(math.exp(log_evidence))


def plural(count: int, noun: str) -> str:
    """Return how many of something.

    >>> plural(1, "round"), plural(2400, "row")
    ('1 round', '2,400 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def minute_text(at: datetime) -> str:
    """Write a time to the minute, in UTC, without saying so."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def span_text(span: timedelta) -> str:
    """Write how long in the largest unit of which there are two or more, in two digits.

    >>> from datetime import timedelta
    >>> [span_text(timedelta(hours=hours)) for hours in (0.52, 30, 60, 120)]
    ['31 min', '30 h', '2.5 days', '5 days']
    """
    seconds = span.total_seconds()
    units = ((2 * 86_400, 86_400, "days"), (2 * 3600, 3600, "h"), (-math.inf, 60, "min"))
    unit, name = next((unit, name) for least, unit, name in units if seconds >= least)
    value = seconds / unit
    digits = 1 if value < 9.95 else 0  # noqa: PLR2004  from there on it rounds to 10
    return f"{f'{value:.{digits}f}'.removesuffix('.0')} {name}"


def capital(text: str) -> str:
    """Begin a sentence with a capital letter."""
    return text[:1].upper() + text[1:]
