"""What `pr-monitor check` reports about a monitor's predictions and its judge.

It asks what the next draw will ask, and what that finds too late: whether ids are unique.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from monitor.cli.commands.group_checks import group_hints, group_warnings
from monitor.domain.errors import SourceRefused
from monitor.domain.model import BandEdges, Frame, Window
from monitor.domain.ports import CheckResult
from monitor.domain.sampled_log import ZERO_NOTE
from monitor.domain.shown import is_picture
from monitor.domain.slots import newest_slot, window_of
from monitor.domain.values import listed
from monitor.presentation.numbers import minute_text, plural
from monitor.presentation.parts.judge import verdicts_text
from monitor.rounds.opening.setting_changes import version_change
from monitor.rounds.sampling.amounts import large_item_sentences
from monitor.rounds.sampling.baseline import check_baseline, majority_sentence
from monitor.rounds.sampling.plausibility import broken_pictures, refuse_unknown, verdict_sizes
from monitor.rounds.sampling.sampled_logs import sampling_questions
from monitor.rounds.sampling.window_scan import PROFILE, why_unusable

if TYPE_CHECKING:
    from monitor.rounds.context import MonitorContext

_TIMED = 1_000  # ids of each stratum whose times of prediction are read
_CHECKED = 50  # items of each class of which pictures are tried


def check_source(context: MonitorContext) -> CheckResult:
    """Scan the newest window as a round would, and describe it.

    Raises `SourceRefused` if a column is missing or has a wrong type, no file exists, too many rows
    are bad for a draw, or the config cannot be meant for these values.
    """
    settings = context.settings.round
    slot = newest_slot(settings.schedule, context.clock())
    window = window_of(settings.schedule, slot)
    at_most = max(settings.sample.budget, PROFILE)  # as a draw reads, so that ids are compared
    reads_verdicts = settings.judge is not None
    strata = BandEdges(judged=reads_verdicts).strata()
    frame = context.source.scan(window, strata, at_most, "check")
    if not frame.rows:
        return _nothing(context, window)
    newest = f"the newest window, {window}"
    refuse_unknown(frame, settings)
    reason = why_unusable(frame, settings)
    if reason is not None:
        message = f"in {newest}: {reason}"
        raise SourceRefused(message)
    unexpected = check_baseline(context, frame, slot, settings)
    for concern in unexpected.concerns:
        if concern.is_setting:
            message = f"in {newest}: {concern.sentence}"
            raise SourceRefused(message)
    counted = f"an amount of {frame.size}" if frame.is_amount else plural(frame.size, "prediction")
    summary = f"{counted} in {newest}, {frame.flagged_size} flagged"
    warnings = (
        *(concern.sentence for concern in unexpected.concerns),
        *filter(None, [majority_sentence(context, frame, slot, settings)]),
        *version_change(context, frame),
        *sampling_questions(frame, settings, os.environ),
        *large_item_sentences(frame, [settings.sample.budget // 2] * len(frame.strata)),
        *_version_warnings(frame),
        *group_warnings(frame),
        *group_hints(frame, times=_times(context, frame)),
        *_where_warnings(context, window, is_empty=False),
        *_shown_warnings(context, frame),
    )
    verdicts = [verdicts_text(verdict_sizes(frame))] if reads_verdicts else []
    omitted = [f"left out: {_counted(frame.bad_rows)}"] if frame.bad_rows else []
    zero = {note: count for note, count in frame.notes.items() if note == ZERO_NOTE}
    others = {**frame.omitted, **zero}
    also = [f"also there: {_counted(others)}"] if others else []
    text = "; ".join([summary, *verdicts, *omitted, *also, *unexpected.notes])
    return CheckResult(text, warnings)


def _times(context: MonitorContext, frame: Frame) -> Collection[datetime]:
    """Read when some items were predicted."""
    ids = [each.id for part in frame.strata for each in part.candidates[:_TIMED]]
    return context.source.prediction_times(ids, frame.window).values()


def _counted(reasons: Mapping[Any, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items())


def _version_warnings(frame: Frame) -> Iterator[str]:
    """Report how many rows are of other model versions than the one that is estimated."""
    released = sum(part.release.released for part in frame.strata if part.release is not None)
    sampled = sum(part.sampled for part in frame.strata)
    others = sum(frame.notes.values()) - released - sampled  # notes count these too
    if others and not frame.is_amount and frame.model_version is not None:
        yield (
            f"{others:,} of {frame.rows:,} rows are of another model version and are left out: "
            f"version {frame.model_version} is estimated, the newest with a tenth of the rows or "
            "more; source.where of another monitor selects the others"
        )


def _where_warnings(context: MonitorContext, window: Window, *, is_empty: bool) -> Iterator[str]:
    """Describe rows that do not count, though their values are nearly the ones that count.

    If no row counts (``is_empty``), ``source.where`` may spell all values differently.
    """
    excluded = context.source.excluded(window)
    for column, values in excluded.items():
        if values:
            yield (
                f"source.where leaves out rows whose {column!r} is {listed(values)}; list each "
                "value that counts"
            )
    if is_empty and excluded and not any(excluded.values()):
        named = ", ".join(map(repr, excluded))
        yield f"source.where counts no row: does it write the values of {named} as the table does?"


def _shown_warnings(context: MonitorContext, frame: Frame) -> Iterator[str]:
    settings = context.settings.round
    if not context.asks_people(settings):
        return
    ids = [candidate.id for part in frame.strata for candidate in part.candidates[:_CHECKED]]
    shown = context.source.show(ids, frame.window).values()
    yield from broken_pictures(shown, settings)
    yield from group_hints(replace(frame, strata=()), shown)
    pictures = sorted({name for one in shown for name, value in one.items() if is_picture(value)})
    for labeler in [one.labeler for one in context.today]:
        shows = getattr(labeler, "shows_pictures", False)
        if pictures and labeler.asks_people and not shows:
            yield (
                f"pictures ({', '.join(pictures)}) are only paths or a remark with labeling of "
                f"kind {labeler.name}; kind page shows them"
            )


def _nothing(context: MonitorContext, window: Window) -> CheckResult:
    empty = f"no predictions in the newest window, {window}"
    span = context.source.span()
    if span is None:
        where = _where_warnings(context, window, is_empty=True)
        return CheckResult("", (f"{empty}; none at all yet", *where))
    newest_row = f"{empty}; the newest is of {minute_text(span[1])} UTC"
    if span[1] >= window.end:
        return CheckResult(newest_row)  # a later window has some
    late = "are they still written, and is schedule.lag as long as they take to arrive?"
    return CheckResult("", (f"{newest_row}: {late}",))
