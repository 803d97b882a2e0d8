"""Sampled logs: the probability of keeping a prediction, as a number by class or as a column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from monitor.domain.setting_types import Settings

SAMPLED_NOTE = "rows of a log that keeps a sample: sizes are estimated by source.kept_with"
AMOUNT_NOTE = "rows counted by amount (source.columns.weight): metrics, sizes and limits are too"
ZERO_NOTE = "rows with the amount 0, which count for nothing"

LEAST = 1e-6
"""Least probability of being kept; with a smaller one, a single row would decide most windows."""

Probability = Annotated[float, Field(ge=LEAST, le=1)]


class LogShares(Settings):
    """The probability that the log keeps a flagged and a passed prediction, 0.000001 to 1."""

    flagged: Probability = 1.0
    passed: Probability = 1.0

    def of(self, *, flagged: bool) -> float:
        """Return the probability of a predicted class."""
        return self.flagged if flagged else self.passed


def _of_both(value: object) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return {"flagged": value, "passed": value} if is_number else value


LogSampling = Annotated[LogShares, BeforeValidator(_of_both)] | Annotated[str, Field(min_length=1)]


def sampling_text(source: Mapping[str, Any] | None) -> str | None:
    """Return ``kept_with`` of a round's frozen source settings as text; None if all is kept.

    >>> sampling_text({"kept_with": {"passed": 0.1}})
    '{flagged: 1, passed: 0.1}'
    >>> sampling_text({"kept_with": {"flagged": 1, "passed": 1}})
    """
    setting = (source or {}).get("kept_with")
    if not isinstance(setting, Mapping):
        return setting
    shares = LogShares.model_validate(setting)
    if shares == LogShares():
        return None
    return f"{{flagged: {shares.flagged:g}, passed: {shares.passed:g}}}"


def keeps_all(source: Mapping[str, Any] | None, *, flagged: bool) -> bool:
    """Whether the log keeps all items of a class, by a round's frozen source settings.

    >>> keeps_all({"kept_with": {"passed": 0.1}}, flagged=True)
    True
    >>> keeps_all({"kept_with": "chance"}, flagged=True)
    False
    """
    shares = (source or {}).get("kept_with", {})
    if not isinstance(shares, Mapping):
        return False
    return float(shares.get("flagged" if flagged else "passed", 1.0)) == 1
