"""Whether labels or scores of a window seem to mean the other class."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from monitor.presentation.labels import inverted_classes_sentence
from monitor.presentation.notices import inverted_sentence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from monitor.domain.model import Frame
    from monitor.rounds.labels.truth_reach import Reach
    from monitor.stats.core.counts import Interval

_LABELS = "labels of this window"
_FEWEST = 10  # positives, and negatives: under that chance alone turns an order round
_MOST = 2000  # items: more cost time, and the interval is narrow enough
_DRAWS = 500


def inverted_warnings(
    frame: Frame, reach: Reach, labels: Mapping[str, bool], *, missing_is_negative: bool
) -> Iterator[str]:
    """Report that flagged items, or higher scores, are positive less often, beyond chance."""
    counts = [
        (part.positive, part.checked if missing_is_negative else part.known)
        for part in (reach.flagged, reach.passed)
    ]
    if _is_inverted(*counts):
        yield inverted_classes_sentence(*counts)
        return
    sentence = _order_sentence(frame, reach, labels)
    if sentence is not None:
        yield sentence


def _is_inverted(flagged: tuple[int, int], passed: tuple[int, int]) -> bool:
    from monitor.stats.drift.rare_events import rates_differ

    if not (flagged[1] and passed[1]):
        return False
    is_lower = flagged[0] * passed[1] < passed[0] * flagged[1]
    return is_lower and (
        rates_differ(*flagged, *passed)
        or rates_differ(flagged[1] - flagged[0], flagged[1], passed[1] - passed[0], passed[1])
    )


def _order_sentence(frame: Frame, reach: Reach, labels: Mapping[str, bool]) -> str | None:
    import numpy as np

    rows = [
        (each.score, part.stratum.flagged, labels[each.id])
        for part in frame.strata
        for each in part.candidates
        if each.id in labels and each.score is not None and not math.isnan(each.score)
    ]
    if not rows:
        return None
    score, flagged, positive = (np.array(column) for column in zip(*rows, strict=True))
    sizes = reach.flagged.size, reach.passed.size
    area = _roc_area(score, flagged, positive, sizes)
    if area is None or area.high >= 0.5:  # noqa: PLR2004  chance
        return None
    return inverted_sentence(_LABELS, (area.point, area.low, area.high))


def _roc_area(
    score: NDArray[np.float64],
    flagged: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    sizes: tuple[int, int],
) -> Interval | None:
    """Estimate the area under the ROC curve; None if too few items are of either kind.

    ``sizes`` are the flagged and the passed items that the labeled ones are drawn from.
    """
    import numpy as np

    from monitor.stats.core.sample import LabeledSample, ScoredSample
    from monitor.stats.curves.curve_draws import curve_bands

    items = np.arange(len(score))
    if len(items) > _MOST:
        # One seed for all: the same labels give the same answer at each check.
        items = np.random.default_rng(0).choice(items, _MOST, replace=False)
    items = items[np.argsort(~flagged[items], kind="stable")]
    flagged, positive = flagged[items], positive[items]
    if min(positive.sum(), (~positive).sum()) < _FEWEST or len({*flagged.tolist()}) == 1:
        return None
    sample = LabeledSample(np.where(flagged, 0, 1), positive, size=sizes, flagged=1)
    rng = np.random.default_rng(0)
    return curve_bands(ScoredSample(sample, score[items]), points=3, rng=rng, draws=_DRAWS).roc_area
