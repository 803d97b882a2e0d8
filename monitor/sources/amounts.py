r"""Windows weighted by amount (``source.columns.weight``): draw and sizes.

Items are drawn in proportion to their amounts, without replacement: in each stratum the first n by
:math:`u_i/a_i`, with u the md5 of seed and id as a number in [0, 1) and a the amount (sequential
Poisson sampling: Ohlsson, "Sequential Poisson sampling", *Journal of Official Statistics* 14,
1998). The rank of an item is below t with probability :math:`\min(1, t a_i)`, so a label is a
Bernoulli variable with the rate by amount. The rank :math:`-\ln(u_i)/a_i` has this property for
small items only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, log10
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Double, literal_column

from monitor.domain.errors import SourceRefused
from monitor.domain.model import StratumFrame
from monitor.domain.sampled_log import AMOUNT_NOTE, ZERO_NOTE
from monitor.domain.segments import scaled
from monitor.sources import buckets
from monitor.sources.buckets import BucketCount
from monitor.sources.sql_rows import bound_of, halved

if TYPE_CHECKING:
    from monitor.sources.sql_rows import Leaf

_DIGITS = 13  # of md5: as many bits as a float has
_STEPS = 2  # of the grid of md5 to a factor of 2
_LEAST = 40  # bits: the first step of the grid
_MOST = 2**53  # the sum of a window: larger whole numbers are not exact as floats


def rank_of(md5: str, amount: float) -> float:
    """Return the rank u/a of an item; it is drawn if the limit is higher."""
    return float(int(md5[:_DIGITS], 16) / 16**_DIGITS / amount)


def is_drawn(
    drawn: ColumnElement[Any], amount: ColumnElement[Any], limit: ColumnElement[Any]
) -> ColumnElement[bool]:
    """Write the condition that an md5 is below amount times limit, or at most one grid step above.

    Databases need not convert an md5 to a number: they compare it with the steps of a grid.
    """
    steps = [2 ** (step / _STEPS) for step in range(-_LEAST * _STEPS, 0)]
    ends = [bound_of(f"{int(each * 16**_DIGITS):0{_DIGITS}x}") for each in steps]
    floors = [_number(each) for each in (0.0, *steps)]
    return halved(drawn, ends, floors) < amount * limit


def limit_leaf(limits: Mapping[int, float]) -> Leaf:
    """Return a function that writes the limit of a bucket; without a limit, nothing is drawn."""
    return lambda code: _number(limits.get(code, -1.0))


def _number(value: float) -> ColumnElement[Any]:
    return literal_column(f"{value:.17e}", Double())


def by_amount(part: StratumFrame, own: Sequence[BucketCount]) -> StratumFrame:
    """Set the size of a stratum to the sum of its rows' amounts.

    ``rows`` becomes minus the number of equal items that would vary as much (Kish).
    """
    counted = sum(one.rows for one in own)
    chances = [one.chance for one in own if one.chance is not None]
    share = part.size / max(counted, 1)
    total, squares = (sum(getattr(each, name) for each in chances) for name in ("total", "squares"))
    size, largest = round(share * total), max((each.most for each in chances), default=0.0)
    items = round(share * total**2 / squares) if squares else 0
    values = zip(*(one.segments for one in own if one.segments), strict=True)
    segments = tuple(scaled(dict(sum(map(Counter, maps), Counter[str]())), size) for maps in values)
    return replace(part, size=size, rows=-items, segments=segments, largest=largest)


def amount_notes(
    location: str, strata: Sequence[StratumFrame], inside: Sequence[BucketCount]
) -> dict[str, int]:
    """Return notes on the number of rows counted by amount, and of rows with the amount 0.

    Raises `SourceRefused` if amounts are too small or too large for whole numbers.
    """
    rows = sum(one.rows for one in inside if one.bucket >= 0)
    amount = sum(part.size for part in strata)
    if amount > _MOST:
        message = (
            f"{location}: the amounts of {rows:,} rows add up to {amount:.2g} (columns.weight), "
            f"more than {_MOST:.2g}; give them in a larger unit, such as millions in a view"
        )
        raise SourceRefused(message)
    if amount < rows:
        unit = 10 ** ceil(log10(100 * rows / max(amount, 1)))
        message = (
            f"{location}: the amounts of {rows:,} rows add up to {amount:,} (columns.weight); "
            "sizes are whole amounts, so give them in a smaller unit, such as times "
            f"{unit:,} in a view"
        )
        raise SourceRefused(message)
    zero = buckets.rows_in(inside, buckets.AMOUNT_ZERO)
    return {AMOUNT_NOTE: rows} | ({ZERO_NOTE: zero} if zero else {})
