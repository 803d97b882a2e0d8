"""Levels and other probabilities: which are refused, and the normal quantile of one."""

from __future__ import annotations

from scipy import special

LEVEL = 0.95
"""Probability of the intervals whose level nobody chooses."""


def check_probability(value: float, name: str) -> None:
    """Refuse a level, or another share, that does not lie strictly between 0 and 1."""
    if not 0 < value < 1:
        message = f"{name} must lie strictly between 0 and 1, got {value!r}"
        raise ValueError(message)


def normal_quantile(level: float) -> float:
    r"""Half-width of a central normal interval in standard deviations, :math:`z_{1-\eta/2}`."""
    check_probability(level, "level")
    return float(special.ndtri(0.5 + level / 2))
