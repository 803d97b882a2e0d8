"""What a plan or a simulation goes by, in a phrase."""

from __future__ import annotations

PLAN_SOURCES = {
    "rates": "the values given",
    "reference": "the reference matrix, spread evenly over the bands",
    "scores": "the scores alone, trusted little until a round is labeled",
    "nothing": "nothing; half of the labels for each predicted class",
}
"""Where the rates of a plan come from, by ``PriorRates.source``."""

GIVEN = "the numbers given"
REFERENCE_ITEMS = "the reference, labeled before launch"
REFERENCE_MATRIX = "the reference matrix, without score bands"


def earlier_rounds_text(rounds: int) -> str:
    """Say how many earlier rounds a plan rests on; on none, it is the reference.

    >>> earlier_rounds_text(0), earlier_rounds_text(1), earlier_rounds_text(7)
    ('the labeled reference', 'one earlier round', '7 earlier rounds')
    """
    if rounds == 0:
        return "the labeled reference"
    return "one earlier round" if rounds == 1 else f"{rounds} earlier rounds"


def closed_rounds_text(rounds: int, *, with_reference: bool) -> str:
    """Say how many closed rounds a simulation goes by.

    >>> closed_rounds_text(1, with_reference=True), closed_rounds_text(3, with_reference=False)
    ('1 closed round and the reference', '3 closed rounds')
    """
    more = " and the reference" if with_reference else ""
    return f"{rounds} closed round{'' if rounds == 1 else 's'}{more}"
