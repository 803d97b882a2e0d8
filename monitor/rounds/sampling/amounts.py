"""What is implausible about a window that is counted by amount."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.domain.model import Frame
from monitor.presentation import windows


def large_item_sentences(frame: Frame, labels: Sequence[int]) -> list[str]:
    """Report classes in which single items hold so much of the amount that they limit labels.

    labels: Of each stratum. No item is drawn twice, so none may hold more than a label stands for.
    """
    if not frame.is_amount:
        return []
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
                    largest.largest / largest.size, largest.available, largest.stratum.name
                )
            )
    return sentences
