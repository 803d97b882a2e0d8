"""Scores that a model wrote as 32-bit numbers, beside a threshold of 64 bits."""

from __future__ import annotations

import struct


def rounded_below(threshold: float | None) -> float | None:
    """Return the threshold as a 32-bit number has it, where that is less than the threshold.

    A model that writes 32-bit scores compares them with such a threshold, so a score of exactly
    this value is at the threshold. Elsewhere rounding moves no score below it: None.

    >>> rounded_below(0.7), rounded_below(0.1), rounded_below(0.5)
    (0.699999988079071, None, None)
    """
    if threshold is None:
        return None
    try:
        [rounded] = struct.unpack("f", struct.pack("f", threshold))
    except OverflowError:  # no 32-bit number is as large
        return None
    return float(rounded) if rounded < threshold else None
