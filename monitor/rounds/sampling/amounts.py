"""Report single items, or rows of a sampled log, that dominate a window."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.domain.model import Frame
from monitor.presentation import windows

_MOST_OF_A_ROW = 0.05  # of the predictions of a class


def large_item_sentences(frame: Frame, labels: Sequence[int]) -> list[str]:
    """Report classes in which large items limit the number of labels.

    labels: Of each stratum. No item is drawn twice, so none may be larger than a label stands for.
    """
    if not frame.is_amount:
        return _large_row_sentences(frame)
    sentences = []
    for flagged in (True, False):
        limited = [
            part
            for part, n in zip(frame.strata, labels, strict=True)
            if part.stratum.flagged == flagged and n >= part.available < len(part.candidates)
        ]
        if limited:
            largest = max(limited, key=lambda part: part.largest / max(part.size, 1))
            sentences.append(
                windows.large_items_sentence(
                    min(largest.largest / largest.size, 1.0),
                    largest.available,
                    largest.stratum.name,
                )
            )
    return sentences


def _large_row_sentences(frame: Frame) -> list[str]:
    sentences = []
    for name, flagged in (("flagged", True), ("passed", False)):
        parts = [part for part in frame.strata if part.stratum.flagged == flagged]
        largest = max(part.largest for part in parts)
        size = sum(part.size for part in parts)
        if largest > _MOST_OF_A_ROW * size:
            sentences.append(windows.large_row_sentence(largest / size, name))
    return sentences
