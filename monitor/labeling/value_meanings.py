"""What the values of a column of labels mean: positive, negative, no label, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from monitor.domain.model import Answer
from monitor.domain.values import DOUBTFUL, MISSING_MARKERS
from monitor.files.relations import all_texts

if TYPE_CHECKING:
    from monitor.labeling.column import ColumnSettings


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """Number of rows that have a truth, and of rows with a doubtful value, by value.

    ``unknown`` values mean nothing; ``case_variants`` of a ``positive`` count as negative.
    ``missing`` are words for a missing value, which count as no truth.
    """

    rows: int
    unknown: Mapping[str, int]
    case_variants: Mapping[str, int]
    missing: Mapping[str, int] = field(default_factory=dict)


class ValueMeanings:
    """Give values their meaning by ``positive``, ``negative`` and ``unlisted_means``.

    ``missing`` are the words for a missing value that neither list has.
    """

    def __init__(self, settings: ColumnSettings) -> None:
        self.positives = frozenset(all_texts(settings.positive))
        self.missing = MISSING_MARKERS - self.positives.union(all_texts(settings.negative or ()))
        self._negatives = settings.negatives
        self._folded = {text.casefold() for text in self.positives}
        takes_unlisted = settings.unlisted_means == "negative"
        self._doubtful = frozenset() if takes_unlisted else DOUBTFUL | self._folded

    def of(self, text: str) -> Answer | None:
        """Return what a value means; None if it is neither positive nor negative.

        Where negatives are not listed, one that is a positive value but for its case, or may stand
        for a missing one, is not negative, unless other classes are.
        """
        if text in self.positives:
            return Answer.POSITIVE
        if text == Answer.CANNOT_TELL:
            return Answer.CANNOT_TELL
        if self._negatives is None:
            return None if text.casefold() in self._doubtful else Answer.NEGATIVE
        return Answer.NEGATIVE if text in self._negatives else None

    def counts(self, counted: Mapping[str, int]) -> ValueCounts:
        """Count all rows that have a value, and rows with a doubtful one by value."""
        missing = {text: counted[text] for text in counted if text in self.missing}
        rows = {text: count for text, count in counted.items() if text not in missing}
        unknown = {text: count for text, count in rows.items() if self.of(text) is None}
        negative = rows.keys() - unknown.keys() - self.positives
        similar = {text: rows[text] for text in negative if text.casefold() in self._folded}
        return ValueCounts(sum(rows.values()), unknown, similar, missing)
