"""Why a round opened, moved, waits, or stays: for people, without a full stop. Not read by code."""

from __future__ import annotations

from datetime import datetime

from monitor.domain.state import RoundState
from monitor.presentation.numbers import minute_text

DUE = "due"
BACKFILLED = "backfill"
REQUESTED = "requested by hand"
NOTHING_REMAINS = "its window is already covered by rounds of an earlier schedule"
"""Why a due slot is recorded as skipped when its window is empty."""
NOTHING_TO_SEE = f"is skipped: {NOTHING_REMAINS}"
"""The end of a slot's line: there is no round to run."""

LOST_STAYS = "is lost: its store was restored without it, and MLflow has its numbers"
"""The end of the line of a slot whose round is not repeated, since its run would be mixed up."""

LIMITS_OF_TODAY = "the limits of the config changed while it was open, and watch it now"
DRAW_INTERRUPTED = "the last worker ended while it drew the sample, perhaps killed or out of memory"


def missed_reason(newest: datetime) -> str:
    """Describe why a slot is recorded as skipped: nobody ran it before the newest came due."""
    return f"missed: the newest due slot is {minute_text(newest)} UTC"


def closed_reason(
    *,
    answered: int,
    expected: int,
    copies: tuple[int, int] = (0, 0),
    checks: tuple[int, int] = (0, 0),
) -> str:
    """State that a round has all its answers, or that its time is over.

    ``copies`` and ``checks`` are answered, and planned.

    >>> closed_reason(answered=200, expected=200)
    'all labels are in'
    >>> closed_reason(answered=180, expected=200, copies=(3, 20))
    'the deadline passed with 180 of 200 answers and 3 of 20 second copies'
    >>> closed_reason(answered=200, expected=200, checks=(12, 20))
    'the deadline passed with 200 of 200 answers and 12 of 20 checks of the column'
    """
    pairs = ((copies, "second copies"), (checks, "checks of the column"))
    more = "".join(f" and {one} of {of} {what}" for (one, of), what in pairs if one < of)
    if answered == expected and not more:
        return "all labels are in"
    return f"the deadline passed with {answered} of {expected} answers{more}"


def drawn_reason(drawn: int, items: int, *, counted: int = 0) -> str:
    """Return how many items of a window go out; ``counted`` never do.

    >>> drawn_reason(200, 3500)
    'drew 200 of 3500 predictions'
    >>> drawn_reason(0, 3500, counted=3500)
    'drew 0 of 3500 predictions; the labels of 3500 are counted whole'
    """
    whole = f"; the labels of {counted} are counted whole" if counted else ""
    return f"drew {drawn} of {items} predictions{whole}"


def unlabeled_reason(predicted: str, *, answered: int, expected: int) -> str:
    """Describe why a round gives no estimate: no item of a predicted class has a label.

    >>> unlabeled_reason("flagged", answered=0, expected=200)
    'no flagged item has a label: 0 of 200 answers came by the deadline'
    """
    what = (
        "every answer was “cannot tell”"
        if answered == expected
        else f"{answered} of {expected} answers came by the deadline"
    )
    return f"no {predicted} item has a label: {what}"


def corrected_reason(version: int) -> str:
    """Describe why a closed round has another version."""
    return f"labels changed: version {version}"


def restated_reason(version: int, by: str, why: str) -> str:
    """Describe why a round has a version that a person asked for.

    >>> restated_reason(2, "ana", "the truth file was wrong in May.")
    'restated by ana, the truth file was wrong in May: version 2'
    """
    return f"restated by {by}, {why.strip().rstrip('.')}: version {version}"


def lost_reason(page: str | None) -> str:
    """Describe why a round has no numbers here; ``page`` is where its run is in MLflow.

    >>> lost_reason(None)
    'lost: its store was restored from a backup without it, so MLflow alone has its numbers'
    """
    link = "" if page is None else f" ({page})"
    return (
        "lost: its store was restored from a backup without it, so MLflow alone has its "
        f"numbers{link}"
    )


def behind_text(version: int) -> str:
    """Describe in the run of a round which version its restored store has.

    >>> behind_text(1)
    'its store was restored from a backup that has version 1; a new version follows this one'
    >>> behind_text(0)
    'its store was restored from a backup that has no version; a new version follows this one'
    """
    own = f"version {version}" if version else "no version"
    return f"its store was restored from a backup that has {own}; a new version follows this one"


def forgotten_item_reason(item_id: str) -> str:
    """Return the sentence that what people were shown of an item is gone from the store."""
    return f"what people were shown of item {item_id!r} was deleted on request"


def stays_text(state: RoundState) -> str:
    """Return the end of a slot's line: why its round is not done again."""
    return f"is {state}; it stays as it is"
