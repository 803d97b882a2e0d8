"""Numbers with a fixed number of decimals, of which small ones do not look like 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

_LEAST = 1e-7  # Smaller numbers are written with an exponent
_DECIMALS = 8  # enough for two digits of the least


def fixed_text(value: float, digits: int = 3) -> str:
    """Write a number with ``digits`` decimals; one that would look like 0 with two digits instead.

    >>> fixed_text(0.8604), fixed_text(0), fixed_text(0.0006), fixed_text(0.004, 2)
    ('0.860', '0.000', '0.001', '0.004')
    >>> fixed_text(0.000005), fixed_text(-0.000213), fixed_text(3e-12)
    ('0.000005', '-0.00021', '3e-12')
    """
    plain = f"{value:.{digits}f}"
    if value == 0 or float(plain) != 0:
        return plain
    short = f"{value:.2g}"
    return short if abs(value) < _LEAST else f"{float(short):.{_DECIMALS}f}".rstrip("0")


def fixed_texts(values: Sequence[float], digits: int = 3) -> list[str]:
    """Write a point and its ends, or two ends: with more decimals where all would look like 0.

    Where only some would, the others show the scale, and tables stay narrow.

    >>> fixed_texts([0.012, 0.0002, 0.05]), fixed_texts([0.000005, 0.000001, 0.000012])
    (['0.012', '0.000', '0.050'], ['0.000005', '0.000001', '0.000012'])
    """
    plain = [f"{value:.{digits}f}" for value in values]
    if any(values) and not any(map(float, plain)):
        return [fixed_text(value, digits) for value in values]
    return plain


def significant_text(value: float, digits: int = 3) -> str:
    """Write a number to ``digits`` significant digits, never with an exponent.

    >>> significant_text(1283.4), significant_text(0.5), significant_text(0.0000123, 2)
    ('1,280', '0.5', '0.000012')
    """
    rounded = f"{value:.{digits}g}"
    return f"{Decimal(rounded):,f}" if math.isfinite(value) else rounded
