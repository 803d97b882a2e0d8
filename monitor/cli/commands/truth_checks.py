"""What `pr-monitor check` reports about labels in a column: whether they join, and their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from monitor.cli.commands.inverted_labels import inverted_warnings
from monitor.domain.errors import LabelsRefused
from monitor.domain.model import BandEdges, Frame, Window
from monitor.domain.ports import CheckResult
from monitor.domain.slots import newest_slot, slots_after, window_of
from monitor.presentation.numbers import minute_text
from monitor.presentation.parts.runs import runs_sentence
from monitor.rounds.labels.late_labels import past_labels
from monitor.rounds.labels.older_labels import older_labels_concern
from monitor.rounds.labels.truth_reach import (
    ClassReach,
    Reach,
    TruthReader,
    contradictions_concern,
    near_misses_concern,
    positives_only_concern,
    reach_of,
    refuse_unreached,
    windows_before,
)
from monitor.rounds.parts.runs import find_runs

if TYPE_CHECKING:
    from monitor.domain.label_parts import AssignedLabeler
    from monitor.labeling.column import ColumnLabeler, ColumnSettings
    from monitor.rounds.context import MonitorContext

_COMPARED = 1_000  # ids to search for in other forms, or in the predictions
_SHOWN = 3  # ids of each side
_FEW = 0.5  # of a mature window's items; a truth with a row for each knows more


def check_truth(
    context: MonitorContext, labeler: ColumnLabeler, assigned: AssignedLabeler
) -> CheckResult:
    """Join the truth with a window that should have it, and report how many ids match.

    Raises `LabelsRefused` if a column is missing, values are neither positive nor negative, nothing
    joins though the truth should be known, only flagged items have rows though others should, or a
    row has an id in another form although a missing row means negative.
    """
    settings = labeler.settings
    labeler.columns()  # refuses a missing column before rows are read
    warnings = _unknown_truth(context, labeler)
    text = f"column {settings.value} of {labeler.truths}"
    whole = context.settings.round.counted_whole.items()
    counted = ["flagged" if flagged else "passed" for flagged, p in whole if p == assigned.part]
    if counted:
        text = f"{text}; the labels of all {' and '.join(counted)} items are counted"
    if settings.checks is not None:
        text = f"{text}; people check {settings.checks} of its items a round"
    window = _joined_window(context, settings.matures)
    if window is None:
        return CheckResult(text, warnings)
    reader = TruthReader(labeler, assigned)
    frame = context.source.scan(window, BandEdges().strata(), _COMPARED, "check")
    ids = [id_ for part in frame.strata for id_ in reader.own(part)]
    reach = reach_of(context, reader, window)
    labels = _labels(reader, labeler, ids)
    is_mature = window.end + settings.matures <= context.clock()
    has_a_row_each = is_mature and settings.missing_means == "unanswered"
    join = _Join(window, ids, labeler.examples(), reach, has_a_row_each)
    if is_mature:
        if ids and join.examples and not join.all.known:
            raise LabelsRefused(_unjoined(join))
        if labeler.must_reach_passed:
            refuse_unreached(context, reader, window)
    near = near_misses_concern(context, labeler, ids)
    unclear = contradictions_concern(labeler, ids)
    older = older_labels_concern(context, labeler, ids, window)
    warnings = (
        *warnings,
        *_join_warnings(join),
        *(sentence for sentence in (near, unclear, older) if sentence is not None),
        *_class_warnings(context, reader, join),
        *inverted_warnings(frame, reach, labels, missing_is_negative=labeler.missing_is_negative),
        *(_runs_warnings(context, frame, labels) if is_mature else ()),
        *_unmatched_warnings(context, labeler),
        *_late_warnings(context, reader, settings),
    )
    if not reach.flagged.size + reach.passed.size:
        return CheckResult(text, (*warnings, f"no item from {window} is of this labeler"))
    classes = (("flagged", reach.flagged), ("passed", reach.passed))
    shares = " and ".join(f"{_share(part)} {name}" for name, part in classes if part.size)
    return CheckResult(f"{text}; {shares} items from {window} have a label", warnings)


@dataclass(frozen=True, slots=True)
class _Join:
    """Items of a window, ids of the truth, and which items have a label.

    ``has_a_row_each``: every item should have its label already.
    """

    window: Window
    ids: Sequence[str]
    examples: Sequence[str]
    reach: Reach
    has_a_row_each: bool

    @property
    def all(self) -> ClassReach:
        return self.reach.flagged + self.reach.passed


def _share(reach: ClassReach) -> str:
    return f"{reach.known} of {reach.checked}"


def _join_warnings(join: _Join) -> Iterator[str]:
    reach = join.all
    least = _FEW * reach.checked if join.has_a_row_each else min(1, reach.checked)
    only = positives_only_concern(reach) if join.has_a_row_each else None
    if only is not None:
        yield only
    elif join.examples and reach.known < least:
        yield _unjoined(join)
    if join.has_a_row_each and not join.examples:
        yield "it has no row yet"
    if reach.known and not reach.positive:
        yield f"none of the {reach.known} known is positive; is labeling.positive right?"


def _class_warnings(context: MonitorContext, reader: TruthReader, join: _Join) -> Iterator[str]:
    """Compare the share of items with a label between the classes, and with the window before."""
    flagged, passed = join.reach.flagged, join.reach.passed
    if join.has_a_row_each and _is_fewer(passed, flagged):
        yield (
            f"{_share(passed)} passed items have a label, and {_share(flagged)} flagged ones: "
            "labels that exist for flagged items more often bias recall where the choice of "
            "passed items depends on what they are"
        )
    before = next(iter(windows_before(context.settings.round.schedule, join.window)), None)
    if before is None:
        return
    earlier = reach_of(context, reader, before)
    pairs = (("flagged", flagged, earlier.flagged), ("passed", passed, earlier.passed))
    for name, now, then in pairs:
        if _is_fewer(now, then):
            yield (
                f"{_share(now)} {name} items from {join.window} have a label, where "
                f"{_share(then)} have one in the window before; are all rows there?"
            )


def _labels(reader: TruthReader, labeler: ColumnLabeler, ids: Sequence[str]) -> dict[str, bool]:
    missing_is_negative = reader.labeler.missing_is_negative
    return {**dict.fromkeys(ids if missing_is_negative else (), False), **labeler.labels_of(ids)}


def _runs_warnings(
    context: MonitorContext, frame: Frame, labels: Mapping[str, bool]
) -> Iterator[str]:
    """Report that labels come in runs, if no column names the groups of items."""
    if frame.group_column is not None:
        return
    by_class: dict[bool, dict[str, bool]] = {True: {}, False: {}}
    for part in frame.strata:
        own = {each.id: labels[each.id] for each in part.candidates if each.id in labels}
        by_class[part.stratum.flagged].update(own)
    runs = find_runs(context.source, frame.window, by_class)
    if runs is not None:
        yield runs_sentence(runs)


def _late_warnings(
    context: MonitorContext, reader: TruthReader, settings: ColumnSettings
) -> Iterator[str]:
    if settings.time is not None:
        past = past_labels(context, reader, settings.matures)
        yield from filter(None, [past and past.concern])


def _is_fewer(reach: ClassReach, baseline: ClassReach) -> bool:
    """Whether less than half as many of some items have a label as of others, beyond chance."""
    from monitor.stats.drift.rare_events import rates_differ

    if not (reach.checked and baseline.checked):
        return False
    rates = reach.known / reach.checked, baseline.known / baseline.checked
    return rates[0] < _FEW * rates[1] and rates_differ(
        reach.known, reach.checked, baseline.known, baseline.checked
    )


def _unmatched_warnings(context: MonitorContext, labeler: ColumnLabeler) -> Iterator[str]:
    """Report that most rows of a truth match no prediction, if a missing row means negative."""
    span = context.source.span()
    if labeler.settings.missing_means != "negative" or span is None:
        return
    ids = labeler.some_ids(_COMPARED)
    window = Window(span[0], span[1] + timedelta(microseconds=1))
    matched = len(context.source.show(ids, window))
    if ids and matched < _FEW * len(ids):
        yield (
            f"{len(ids) - matched} of {len(ids)} ids of {labeler.truths} match no prediction (such "
            f"as {', '.join(map(repr, ids[:_SHOWN]))}); unless they are of items from before "
            f"{minute_text(span[0])} UTC, the labels of these items are lost and count as negative"
        )


def _unknown_truth(context: MonitorContext, labeler: ColumnLabeler) -> tuple[str, ...]:
    """Describe unknown values; refuse them if they are too many to be noise."""
    values, block = labeler.values(), context.settings.round.block
    classes = () if block is None else block.values
    similar = {text: rows for text, rows in values.case_variants.items() if text not in classes}
    warnings = labeler.doubtful_sentences(similar, values.missing)
    if values.unknown:
        warnings.insert(0, labeler.unknown_sentence(values.unknown))
    if sum(values.unknown.values()) > context.settings.round.bad_rows_max * values.rows:
        raise LabelsRefused(warnings[0])
    return tuple(warnings)


def _joined_window(context: MonitorContext, matures: timedelta) -> Window | None:
    """Choose the newest window whose truth should be known, else the last with predictions."""
    span = context.source.span()
    if span is None:
        return None
    schedule = context.settings.round.schedule
    for age in dict.fromkeys((matures, timedelta(0))):
        window = window_of(schedule, newest_slot(schedule, context.clock() - age))
        if context.source.count(window):
            return window
    return window_of(schedule, next(slots_after(schedule, span[1] + schedule.lag)))


def _unjoined(join: _Join) -> str:
    predicted, labeled = (
        ", ".join(map(repr, each[:_SHOWN])) for each in (sorted(join.ids), join.examples)
    )
    return (
        f"{_share(join.all)} items from {join.window} have a label: predictions have ids such as "
        f"{predicted}, the truth such as {labeled}; do both write ids the same way, and for the "
        "same items?"
    )
