"""What is unusual about a round, in a sentence without its full stop."""

from __future__ import annotations

from collections.abc import Mapping

from monitor.presentation.numbers import range_text


def groups_sentence(worth: Mapping[str, tuple[int, float]]) -> str:
    """Return the sentence that labels of groups are worth fewer independent ones, by class."""
    parts = " and ".join(
        f"{labels} {name} labels are worth {max(round(independent), 1)}"
        for name, (labels, independent) in worth.items()
    )
    return (
        f"items of one group (source.columns.group) are alike: for intervals of the rate {parts} "
        "independent ones; labels from more groups narrow them"
    )


def group_sizes_sentence(name: str, gap: float) -> str:
    """Return the sentence that large groups of a class have another rate than small ones."""
    more, points = ("less" if gap > 0 else "more"), 100 * abs(gap)
    return (
        f"{name} items of large groups (source.columns.group) are positive {more} often: with one "
        f"vote for each group the rate is {points:.1f} points {'higher' if gap > 0 else 'lower'}; "
        "alerts assume that large and small groups are alike, so they may be false or late: "
        "compare the interval with the limit, and watch large groups in a monitor of their own "
        "(source.where)"
    )


THIS_ROUND = "labels of this round"
"""By which labels scores are in the wrong order."""


def last_rounds(rounds: int) -> str:
    """Name the labels of the last rounds in the same way."""
    return f"labels of the last {rounds} rounds"


def inverted_sentence(labels: str, area: tuple[float, float, float]) -> str:
    """Return the sentence that higher scores mean positives less often, by which labels."""
    point, low, high = area
    return (
        f"by the {labels}, positives have lower scores than negatives: the area under the ROC "
        f"curve is {point:.2f} {range_text(low, high, 2)}, where chance gives 0.5 (does the "
        "score mean the other class?)"
    )


def disputed_sentence(
    monitor: str,
    metric: str,
    limit: float,
    *,
    disputed: int,
    answered: int,
    ways: tuple[float, float],
) -> str:
    """State that a limit hangs on how disputed items are counted, and which values it then has."""
    return (
        f"people contradict each other on {disputed} of {answered} answered items: by the way "
        f"these are counted {metric} is {ways[0]:.2f} or {ways[1]:.2f}, and its limit is "
        f"{limit:g}; have somebody decide them "
        f"(pr-monitor labels export --disputed -m {monitor})"
    )
