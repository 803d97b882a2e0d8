"""Describe how much is left to label.

Uses only the plan and counts: a margin that moved with an answer would reveal what was predicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_WIDE = 0.5  # A half-width from which on a margin says nothing


@dataclass(frozen=True, slots=True)
class AnnotatorProgress:
    """Items left for a person, and how many of them are on other screens.

    ``then`` has the margins that their round is planned for; None if they are of several.
    """

    remaining: int
    elsewhere: int
    then: Mapping[str, float] | None = None

    @property
    def text(self) -> str:
        """Describe the progress.

        >>> AnnotatorProgress(0, 0).text, AnnotatorProgress(1500, 0).text
        ('Nothing to go', '1,500 to go')
        >>> AnnotatorProgress(120, 0, {"precision": 0.068, "recall": 0.09}).text
        '120 to go; then precision within ±7 %, recall ±9 %'
        """
        if not self.remaining:
            return "Nothing to go"
        return f"{self.remaining:,} to go{_then(self.then or {})}"


def _then(margins: Mapping[str, float]) -> str:
    within = [f"{metric}{{}} ±{half:.0%}" for metric, half in margins.items() if half < _WIDE]
    if not within:
        return ""
    first, *others = within
    text = ", ".join([first.format(" within"), *(other.format("") for other in others)])
    return f"; then {text.replace('%', ' %')}"
