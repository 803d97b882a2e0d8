"""What `pr-monitor check` says of a monitor's predictions, and of a truth that stands in a column.

It asks what the next draw will ask, and what that finds too late: whether ids are unique, and
whether the truth joins.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from monitor.domain.errors import LabelsRefused, SourceRefused
from monitor.domain.model import BandEdges
from monitor.domain.shown import is_picture
from monitor.domain.slots import newest_slot, slots_after, window_of
from monitor.labeling.page import PageLabeler
from monitor.presentation.numbers import minute_text
from monitor.rounds.sampling.baseline import look_odd
from monitor.rounds.sampling.look import PROFILE, why_unusable
from monitor.rounds.sampling.pictures import broken_pictures
from monitor.rounds.sampling.plausibility import refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from monitor.domain.model import Frame, Window
    from monitor.domain.shown import Shown
    from monitor.labeling.column import ColumnLabeler, Truth
    from monitor.rounds.context import MonitorContext

_JOINED = 1_000  # items of each class that are looked up in the truth
_LOOKED_AT = 50  # items of each class of which pictures are tried
_TEXTS_ONLY = {"files": "label files", "mlflow": "MLflow", "label_studio": "Label Studio"}
_SHOWN = 3  # ids of each side
_FEW = 0.5  # of a mature window's items; a truth with a row for each knows more


@dataclass(frozen=True, slots=True)
class Found:
    """What is there, and what about it needs a look though a round would go on."""

    text: str
    looks: tuple[str, ...] = ()


def check_source(context: MonitorContext) -> Found:
    """Scan the newest window as a round would, and say what is there.

    Raises
    ------
    SourceRefused
        If a column is missing or of a wrong type, no file is there, so many rows are bad that no
        round could be drawn, or the config cannot be meant for these values.
    """
    settings = context.settings.round
    slot = newest_slot(settings.schedule, context.clock())
    window = window_of(settings.schedule, slot)
    at_most = max(settings.sample.max_labels, PROFILE)  # as a draw reads, so that ids are compared
    frame = context.source.scan(window, BandEdges().strata(), at_most, "check")
    newest = f"the newest window, {window}"
    if not frame.rows:
        return _nothing(context, window)
    refuse_unknown(frame, settings)
    reason = why_unusable(frame, settings)
    if reason is not None:
        message = f"in {newest}: {reason}"
        raise SourceRefused(message)
    odd = look_odd(context, frame, slot, settings)
    for concern in odd.concerns:
        if concern.is_setting:
            message = f"in {newest}: {concern.sentence}"
            raise SourceRefused(message)
    bad = [f"{count} {reason}" for reason, count in frame.bad_rows.items()]
    found = f"{frame.size} predictions in {newest}, {frame.flagged_size} flagged"
    looks = (*(concern.sentence for concern in odd.concerns), *_looks_at_shown(context, frame))
    text = "; ".join([found, *([f"left out: {', '.join(bad)}"] if bad else []), *odd.notes])
    return Found(text, looks)


def _looks_at_shown(context: MonitorContext, frame: Frame) -> Iterator[str]:
    """Say what people would not see of some items.

    Raises
    ------
    SourceRefused
        If so many pictures cannot be shown that no round could be drawn.
    """
    settings = context.settings.round
    if not context.asks_people(settings):
        return
    ids = [candidate.id for part in frame.strata for candidate in part.candidates[:_LOOKED_AT]]
    shown = context.source.show(ids, frame.window).values()
    yield from broken_pictures(shown, settings)
    pictures = sorted({name for one in shown for name, value in one.items() if is_picture(value)})
    place = _TEXTS_ONLY.get(context.labeler.name)
    if pictures and place is not None:
        yield (
            f"pictures ({', '.join(pictures)}) stand in {place} by their paths or as a remark; "
            "labeling of kind page shows them"
        )
    if isinstance(context.labeler, PageLabeler):
        yield from _looks_at_gold(context.labeler, shown)


def _looks_at_gold(labeler: PageLabeler, shown: Collection[Shown]) -> Iterator[str]:
    """Say by what people would tell gold items, which are texts, from tasks."""
    try:
        gold = labeler.gold()
    except LabelsRefused:
        return  # which the line on the labels says
    if not (gold and shown):
        return
    names = {name for one in shown for name in one}
    odd = sorted(names ^ {name for item in gold for name in item.shown})
    if odd:
        yield (
            "gold items of labeling.gold do not look like tasks: only one of both has "
            f"{', '.join(map(repr, odd))}; give their file the columns that people are shown "
            f"({', '.join(sorted(names))})"
        )


def _nothing(context: MonitorContext, window: Window) -> Found:
    newest = f"the newest window, {window}"
    span = context.source.span()
    if span is None:
        return Found(f"no predictions in {newest}; none at all yet")
    latest = f"the newest is of {minute_text(span[1])} UTC"
    if span[1] >= window.end:
        return Found(f"no predictions in {newest}; {latest}")
    look = (
        f"{latest}, before {newest}: are they still written, and is schedule.lag as long as they "
        "take to arrive?"
    )
    return Found(f"no predictions in {newest}; {latest}", (look,))


def check_truth(context: MonitorContext, labeler: ColumnLabeler) -> Found:
    """Join the truth with a window that should have it, and say how many ids match.

    Raises
    ------
    LabelsRefused
        If a column is missing, values are neither positive nor negative, or nothing joins though
        the truth should be known.
    """
    settings = labeler.settings
    labeler.columns()  # refuses a missing column before rows are read
    looks = _unknown_truth(context, labeler)
    text = f"column {settings.value} of {labeler.truths}"
    window = _joined_window(context, settings.matures)
    if window is None:
        return Found(text, looks)
    frame = context.source.scan(window, BandEdges().strata(), _JOINED, "check")
    ids = [candidate.id for part in frame.strata for candidate in part.candidates]
    truth = labeler.truth_of(ids)
    is_mature = window.end + settings.matures <= context.clock()
    if is_mature:
        _refuse_unjoined(window, ids, truth)
    has_a_row_each = is_mature and settings.missing_means == "unanswered"
    looks = (*looks, *_looks_at_join(window, ids, truth, has_a_row_each=has_a_row_each))
    return Found(f"{text}; {truth.known} of {len(ids)} items from {window} have a label", looks)


def _refuse_unjoined(window: Window, ids: Sequence[str], truth: Truth) -> None:
    """Refuse a truth that should know these items by now, has rows, and knows none of them."""
    if ids and truth.examples and not truth.known:
        raise LabelsRefused(_unjoined(window, ids, truth))


def _looks_at_join(
    window: Window, ids: Sequence[str], truth: Truth, *, has_a_row_each: bool
) -> Iterator[str]:
    """Say what is odd about a join; ``has_a_row_each``: every item should have its truth by now."""
    least = _FEW * len(ids) if has_a_row_each else min(1, len(ids))
    if truth.examples and truth.known < least:
        yield _unjoined(window, ids, truth)
    if has_a_row_each and not truth.examples:
        yield "it has no row yet"
    if truth.known and not truth.positive:
        yield f"none of the {truth.known} known is positive; is labeling.positive right?"


def _unknown_truth(context: MonitorContext, labeler: ColumnLabeler) -> tuple[str, ...]:
    """Say which values are odd; refuse those that mean nothing if too many to be noise do."""
    values, block = labeler.values(), context.settings.round.block
    classes = () if block is None else block.values
    alike = {text: rows for text, rows in values.alike.items() if text not in classes}
    looks = [labeler.alike_sentence(alike)] if alike else []
    if values.unknown:
        looks.insert(0, labeler.unknown_sentence(values.unknown))
    if sum(values.unknown.values()) > context.settings.round.bad_rows_max * values.rows:
        raise LabelsRefused(looks[0])
    return tuple(looks)


def _joined_window(context: MonitorContext, matures: timedelta) -> Window | None:
    """Choose the newest window whose truth should be known, else the last with predictions."""
    span = context.source.span()
    if span is None:
        return None
    schedule = context.settings.round.schedule
    for age in (matures, timedelta(0)):
        window = window_of(schedule, newest_slot(schedule, context.clock() - age))
        if context.source.count(window):
            return window
    return window_of(schedule, next(slots_after(schedule, span[1] + schedule.lag)))


def _unjoined(window: Window, ids: Sequence[str], truth: Truth) -> str:
    """Show both sides of a join that finds too little."""
    here, there = (", ".join(map(repr, each[:_SHOWN])) for each in (sorted(ids), truth.examples))
    return (
        f"{truth.known} of {len(ids)} items from {window} have a label: predictions have ids such "
        f"as {here}, the truth such as {there}; are they written alike, and of the same items?"
    )
