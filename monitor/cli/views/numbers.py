"""Estimates in a few characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDE = 10
"""From here on a number needs no third digit."""


class Estimate(Protocol):
    """An estimate as every layer has it."""

    @property
    def point(self) -> float | None:
        """Posterior mean, None where undefined."""

    @property
    def low(self) -> float | None:
        """Lower end."""

    @property
    def high(self) -> float | None:
        """Upper end."""

    @property
    def reason(self) -> str | None:
        """Why it is undefined."""


def interval_text(found: Estimate, digits: int = 3) -> str:
    """Say a point and its interval, such as ``0.860 [0.803, 0.909]``."""
    if found.point is None or found.low is None or found.high is None:
        return "not estimable"
    if max(abs(found.low), abs(found.high)) >= WIDE:
        digits = 1
    return f"{found.point:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def reason_text(found: Estimate) -> str:
    """Say why there is no number."""
    reason = found.reason or "no reason was kept"
    return reason if reason.startswith("not estimable") else f"not estimable: {reason}"


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
