"""Sentences about labels that are refused, where people are to answer again or otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from monitor.domain.id_forms import NearMiss
from monitor.domain.model import Refusal
from monitor.presentation.numbers import minute_text, percent_text, span_text

DECLINED_COST = "a few of the latter widen intervals much, since these allow for either answer"
"""What people should know before they answer "cannot tell"."""

if TYPE_CHECKING:
    from datetime import datetime, timedelta


def same_person_reason(annotator: str) -> str:
    """Report why an answer to one copy of an item is refused: its other copy has this person's."""
    return (
        f"is a second copy of an item that {annotator!r} answered already; give it to another "
        "person"
    )


def unreached_sentence(
    *, flagged: tuple[int, int], passed: int, windows: int, expected: float
) -> str:
    """State that a truth has rows of flagged items alone, where a missing row means negative.

    ``flagged`` has how many have a row, and how many were looked up.
    """
    where = "the window" if windows == 1 else f"{windows} windows"
    seen = f"{flagged[0]} of {flagged[1]} flagged items of {where} have a row, and "
    alone = f"labels exist for flagged items alone: {seen}none of {passed} passed ones"
    begin = alone if flagged[1] else f"none of {passed} passed items of {where} has a row"
    return (
        f"{begin}, where even a recall of 0.95 leaves "
        f"{expected:.0f}. With missing_means: negative recall would be 1 whatever the classifier "
        "misses. If nobody looks at passed items, set labeling.missing_means: unanswered; if they "
        "are negative indeed, set labeling.passed_without_rows: accept"
    )


def inverted_classes_sentence(flagged: tuple[int, int], passed: tuple[int, int]) -> str:
    """State that flagged items are positive less often than passed ones: positive, of how many."""
    shares = " and ".join(
        f"{positive:,} of {size:,} {name} items ({percent_text(positive / size)})"
        for name, (positive, size) in (("flagged", flagged), ("passed", passed))
    )
    return (
        f"{shares} are positive, so flagged items are positive less often: do the labels "
        "(labeling.positive) or the flags mean the opposite class?"
    )


def late_labels_sentence(
    late: float,
    span: tuple[datetime, datetime],
    since: datetime | None,
    matures: timedelta,
    enough: timedelta,
) -> str:
    """State that ``matures`` is too short, since when, and what is long enough.

    ``since`` is None if labels were late in each window of the ``span`` that was looked at.
    """
    start, end = (f"{minute_text(each)}" for each in span)
    begun = "in all of this time" if since is None else f"since {minute_text(since)}"
    return (
        f"{percent_text(late, 2)} of the positive labels of items from {start} to {end} UTC became "
        f"known later than labeling.matures ({span_text(matures)}), {begun}, so numbers of younger "
        f"rounds lack such labels and are provisional; 95 % were known after {enough.days} days: "
        f"set labeling.matures to {enough.days}d"
    )


def older_labels_sentence(older: int, labels: int, example: tuple[str, datetime, datetime]) -> str:
    """State how many labels became known before the prediction they are joined with."""
    item, labeled_at, predicted_at = example
    return (
        f"{older} of {labels} labels became known (labeling.time) before their prediction, such as "
        f"that of {item!r}: known {minute_text(labeled_at)}, predicted {minute_text(predicted_at)} "
        "UTC. A label of an earlier prediction with the same id does not apply to this one: make "
        "ids unique to a prediction, unless these labels never change"
    )


def near_misses_sentence(near: Sequence[NearMiss], *, items: int, refused: bool) -> str:
    """Report how many items have a label only by an id in another form, with an example."""
    counts = Counter({miss.item: miss.difference for miss in near}.values())
    differs = ", ".join(f"{count} but for {what}" for what, count in counts.items())
    example = min(near)
    way_out = (
        ". With missing_means: negative these items would be negative. Write ids the same way "
        "on both sides; if these rows are of other items, set labeling.similar_ids: accept"
        if refused
        else "; these labels are not taken, so write ids the same way on both sides"
    )
    return (
        f"{counts.total()} of {items} items have a label only under an id that is written "
        f"differently ({differs}): the prediction has {example.item!r}, the truth "
        f"{example.form!r}{way_out}"
    )


def unlabeled_passed_sentence(size: int, answered: int, expected: int) -> str:
    """Return the sentence that a round has labels of flagged items alone."""
    return (
        f"none of the {size} passed items has a label ({answered} of {expected} answers came by "
        "the deadline), so precision is estimated, and recall and what else rests on passed items "
        "is not"
    )


def positives_only_sentence(positives: int, unlabeled: int) -> str:
    """Suggest that a column whose labels are all positive lists positives only."""
    return (
        f"all {positives:,} labels are positive, and {unlabeled:,} items have no label: if the "
        "column lists positives only, set labeling.missing_means: negative"
    )


def unchecked_sentence(items: int) -> str:
    """State that a round closed without any check of the labels that a column has."""
    return f"nobody answered the {items} checks of the column's labels"


def refused_line(refused: Sequence[Refusal]) -> str:
    """Show one of the refused rows, and how many more there are."""
    more = "" if len(refused) == 1 else f"; {len(refused) - 1} more stand in the log"
    return f"label refused: {refused[0]}{more}"


def unclear_sentence(items: int) -> str:
    """State that items have no label though the truth has rows for them."""
    have = "1 item has" if items == 1 else f"{items:,} items have"
    return (
        f"{have} no label: the rows contradict one another, or hold values that are neither "
        "positive nor negative"
    )


def scaled_sentence(number: int, changed: int, items: int) -> str:
    """State that few predictions of a window changed after the draw of its round."""
    return (
        f"{changed:,} of the {items:,} predictions of round {number} that are counted whole came "
        "or went since it was drawn; its new labels are scaled to those drawn, and not taken where "
        "more than bad_rows_max changed"
    )


def stale_count_sentence(answered: int, why: str | None) -> str:
    """State that labels of a round are not counted again, and what holds instead."""
    reason = "" if why is None else f" ({why})"
    return (
        f"changed labels are not counted: the predictions cannot be read again as they were drawn"
        f"{reason}. The round keeps its last count of {answered:,} labels"
    )


def no_rows_sentence(items: int) -> str:
    """State that the truth has no row of a window, where a missing row means negative."""
    return (
        f"none of {items:,} items of the window has a row in the truth, so with missing_means: "
        "negative all of them are negative; is labeling.id the column of their ids?"
    )


def lost_rows_sentence(answered: int) -> str:
    """State that the truth lost all rows of a round, which keeps its labels."""
    return (
        "changed labels are not counted: no item of the round has a row in the truth now; check "
        f"labeling.path and labeling.id. The round keeps its last count of {answered:,} labels"
    )
