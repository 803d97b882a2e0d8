"""The items that a plan takes of a counted window."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from monitor.domain.errors import SourceRefused
from monitor.domain.label_parts import checks_of, part_of, parts_of, rules_of
from monitor.domain.model import Frame, Item
from monitor.domain.shown import Shown, problem_of
from monitor.presentation.windows import broken_pictures_sentence

if TYPE_CHECKING:
    from monitor.domain.settings import RoundSettings


def items_of(frame: Frame, expected: Sequence[int]) -> list[Item]:
    """Take the first candidates of each stratum, as many as the plan gives it."""
    return [
        Item(
            c.id,
            part.stratum.name,
            order,
            c.score,
            part.stratum.flagged,
            dict(zip(frame.segment_columns, c.segments, strict=True)),
            c.challenged,
        )
        for part, size in zip(frame.strata, expected, strict=True)
        for order, c in enumerate(part.candidates[:size])
    ]


def broken_pictures(shown: Collection[Shown], settings: RoundSettings) -> tuple[str, ...]:
    """Return how many of these items have a picture that cannot be shown; nothing if none has."""
    problems = [problem for one in shown if (problem := problem_of(one)) is not None]
    if not problems:
        return ()
    sentence = broken_pictures_sentence(Counter(problems), len(shown))
    if len(problems) > settings.bad_rows_max * len(shown):
        message = f"{sentence}, more than bad_rows_max = {settings.bad_rows_max:g} allows"
        raise SourceRefused(message, is_public=True)
    return (sentence,)


def doubled(drawn: Sequence[Item], settings: RoundSettings) -> set[str]:
    """Choose the items that a second person labels too: the first by draw of each stratum.

    Where strata are score cells of a few items each, the share is that of all items before them
    and theirs together; rounded up in each it would be a larger one.
    """
    cells, rules = settings.sample.cells is not None, rules_of(settings.labeling)
    parts = parts_of(settings.labeling)
    shares = [part.get("overlap", 0.0 if len(parts) > 1 else settings.overlap) for part in parts]
    by_part: defaultdict[int, list[Item]] = defaultdict(list)
    for item in drawn:
        by_part[part_of(rules, predicted=item.predicted, segments=item.segments)].append(item)
    return set().union(*(_doubled(own, shares[part], cells=cells) for part, own in by_part.items()))


def checked_sizes(
    frame: Frame, expected: Sequence[int], settings: RoundSettings
) -> list[tuple[int, int]]:
    """Return how many items of each stratum people check, the first by draw, and who asks them.

    They are in proportion to the labels of the strata; of a column that labels both predicted
    classes, half are of each.
    """
    result = [(0, 0)] * len(expected)
    for checks in checks_of(settings.labeling).values():
        for flagged in checks.classes:
            own = [h for h, part in enumerate(frame.strata) if part.stratum.flagged == flagged]
            labels = sum(expected[h] for h in own)
            share = min(1.0, checks.items / len(checks.classes) / max(labels, 1))
            before = 0
            for h in own:
                size = _share(share, before + expected[h]) - _share(share, before)
                result[h] = (min(size, len(frame.strata[h].candidates)), checks.checker)
                before += expected[h]
    return result


def _doubled(drawn: Sequence[Item], overlap: float, *, cells: bool) -> set[str]:
    of: defaultdict[str, list[Item]] = defaultdict(list)
    for item in drawn:
        of[item.stratum].append(item)
    before, result = 0, set[str]()
    for own in of.values():
        first = _share(overlap, before + len(own)) - _share(overlap, before)
        result |= {item.id for item in sorted(own, key=lambda item: item.order)[:first]}
        before += len(own) if cells else 0
    return result


def _share(overlap: float, items: int) -> int:
    # Rounded first: .07 * 100 is a little over 7, and would ask for an eighth.
    return math.ceil(round(overlap * items, 6))
