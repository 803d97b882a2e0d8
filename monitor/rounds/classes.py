"""Precision and recall over the classes of a block, once all rounds of a window have ended.

A worker that ends or corrects a round checks whether all rounds of its window have ended. If so, it
writes the averages as an effect whose key contains the state of all these rounds: so several
processes write it once. The next pass of any monitor of the block adds missing averages.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING

from monitor.domain.block import Block
from monitor.domain.class_report import AverageRow, ClassReport, ClassRow
from monitor.domain.model import MLFLOW, EffectKind
from monitor.domain.round import Round
from monitor.domain.state import ENDED, RoundState
from monitor.presentation.classes import NO_MONITOR, NO_ROUND, ended_text
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.curves import NoCurves, labeled_sample
from monitor.stats.core.sample import LabeledSample
from monitor.storage.labels.round_labels import RoundLabels, read_all_labels
from monitor.storage.outbox import effect_store
from monitor.storage.outbox.effect_store import NewEffect
from monitor.storage.results import class_store
from monitor.storage.results.class_store import ClassVersion
from monitor.storage.schema import store_id

if TYPE_CHECKING:
    from sqlalchemy import Connection


LEVEL = 0.95
_SLACK = timedelta(days=10)  # A round may wait to be drawn, and close after its deadline


@dataclass(frozen=True, slots=True)
class ClassPosition:
    """The number and version of a window's report, and the classes of the window before."""

    round: int
    version: int
    before: tuple[str, ...] | None


def index_among(
    connection: Connection, block: str, slot: datetime, rounds: Collection[Round]
) -> ClassPosition:
    """Return the number and version of a window's report, and the values of the report before.

    The number counts on from the window before, else back from the one after, by the rounds of any
    monitor that has one in both. The highest round number would not do: it falls if classes leave,
    and MLflow would have two windows at one step.
    """
    same = class_store.report_of_block(connection, block, slot)
    previous = class_store.report_before(connection, block, slot)
    version = sum(each.version for each in rounds)
    return ClassPosition(
        round=_number(connection, block, slot, rounds, previous) if same is None else same.round,
        version=version if same is None else max(version, same.version + 1),
        before=None if previous is None else tuple(row.value for row in previous.classes),
    )


def _number(
    connection: Connection,
    block: str,
    slot: datetime,
    rounds: Collection[Round],
    previous: ClassReport | None,
) -> int:
    if previous is not None:
        return max([previous.round + 1, *_counted_from(previous, rounds)])
    following = class_store.report_after(connection, block, slot)
    if following is not None:
        return min([following.round - 1, *_counted_from(following, rounds)])
    return max(each.number for each in rounds)


def _counted_from(report: ClassReport, rounds: Iterable[Round]) -> list[int]:
    round_of = {row.monitor: row.round for row in report.classes if row.round is not None}
    return [
        report.round + each.number - round_of[each.monitor]
        for each in rounds
        if each.monitor in round_of
    ]


@dataclass(frozen=True, slots=True)
class _BlockState:
    """Rounds of one window of a block, all ended, by class in the config's order."""

    store_id: str
    block: str
    slot: datetime
    classes: Mapping[str, str | None]
    rounds: Mapping[str, Round]

    @property
    def closed(self) -> list[Round]:
        """The rounds with an estimate."""
        return [each for each in self.rounds.values() if each.state is RoundState.CLOSED]

    @property
    def state(self) -> str:
        """Digest of everything that the averages depend on."""
        facts = attrgetter("id", "state", "reason", "first_version", "label_revision")
        what = [
            [value, monitor, *(facts(self.rounds[value]) if value in self.rounds else ())]
            for value, monitor in self.classes.items()
        ]
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]

    @property
    def key(self) -> str:
        """Key of the effect: one for each state."""
        slot = self.slot.isoformat()
        return f"{self.store_id}/{self.block}/{slot}/{self.state}/{EffectKind.CLASS_AVERAGES}"


def lost_windows(context: MonitorContext) -> dict[datetime, ClassVersion]:
    """Find windows whose averages may be missing, newest first.

    Windows whose rounds may take labels are checked whenever a round has changed; older ones once
    per process, if their report is missing or older than their rounds.
    """
    if not context.class_monitors:
        return {}
    settled, names = context.settled, list(context.class_monitors.values())
    round_settings = context.settings.round
    since = context.clock() - round_settings.late_labels - round_settings.deadline - _SLACK
    with context.database.read() as connection:
        if not settled.is_new:
            return settled.others(class_store.ended_windows(connection, names, since=since))
        windows = class_store.ended_windows(connection, names)
        reported = class_store.reported_versions(connection, names)
    settled.is_new = False
    return settled.others(
        {
            slot: marker
            for slot, marker in windows.items()
            if slot > since or reported.get(slot, 0) < marker.version
        }
    )


def publish_lost(context: MonitorContext, slot: datetime, marker: ClassVersion) -> None:
    """Publish the averages of a window if they are missing, and record its version."""
    try:
        is_written = _publish(context, slot)
    except Exception:
        context.settled.is_new = True  # check it again, regardless of its age
        raise
    if is_written:
        context.settled.note(slot, marker)


def publish_classes(context: MonitorContext, slots: Iterable[datetime]) -> None:
    """Publish the averages of a block's windows whose rounds have all ended, once per state."""
    if context.class_monitors:
        for slot in slots:
            _publish(context, slot)


def _publish(context: MonitorContext, slot: datetime) -> bool:
    """Publish the averages of a window; returns whether they are written."""
    with context.database.read() as connection:
        state = _block_state(connection, context, slot)
        if state is None:
            return False
        if class_store.is_written(connection, state.key):
            return True
        labels = read_all_labels(connection, state.closed)
        position = index_among(connection, state.block, slot, state.rounds.values())
    report = _report(state, position, labels)
    with context.database.write() as connection:
        repeated = _block_state(connection, context, slot)
        if repeated is None or repeated.state != state.state:  # it changed meanwhile
            return False
        effect_store.add_effects(connection, [_effect(context, state, report)], context.clock())
    return True


def _block_state(
    connection: Connection, context: MonitorContext, slot: datetime
) -> _BlockState | None:
    """Read the state of a window; None while it waits for a round, or if none has an estimate."""
    class_monitors = context.class_monitors
    by_monitor = class_store.rounds_of_slot(connection, list(class_monitors.values()), slot)
    if not all(each.is_settled for each in by_monitor.values()):
        return None
    # The block as of the round that was opened last: classes may come and go.
    newest = max(by_monitor.values(), key=lambda each: (each.opened_at, each.id), default=None)
    block = None if newest is None else newest.settings.block
    if block is None or not all(map(_is_of_classes, by_monitor.values())):
        return None
    rounds = _by_class(connection, block, by_monitor.values(), slot)
    classes = {
        value: rounds[value].monitor if value in rounds else class_monitors.get(value)
        for value in block.values
    }
    lacking = {
        class_monitors[value]
        for value in classes
        if value in class_monitors and value not in rounds
    }
    if _may_come(connection, lacking - by_monitor.keys(), slot):
        return None
    state = _BlockState(store_id(connection), block.name, slot, classes, rounds)
    return state if state.closed else None


def _by_class(
    connection: Connection, block: Block, rounds: Iterable[Round], slot: datetime
) -> dict[str, Round]:
    """Find the round that was opened for each class, regardless of the present config.

    Includes ended rounds of monitors that left the config: no pass continues them.
    """
    by_class = _classes_of(rounds)
    if not by_class.keys() >= set(block.values):
        every = filter(_is_of_classes, class_store.rounds_of_block(connection, block.name, slot))
        by_class = _classes_of(each for each in every if each.state in ENDED) | by_class
    return {value: by_class[value] for value in block.values if value in by_class}


def _classes_of(rounds: Iterable[Round]) -> dict[str, Round]:
    in_order = sorted(rounds, key=lambda each: (each.opened_at, each.id))
    return {each.settings.block.value: each for each in in_order if each.settings.block is not None}


def _is_of_classes(round_: Round) -> bool:
    """Whether a round was opened for a class; its monitor may have been of another kind then."""
    block = round_.settings.block
    return block is not None and block.kind == "classes"


def _may_come(connection: Connection, lacking: Collection[str], slot: datetime) -> bool:
    """Whether a monitor without a round for a window may still open one: it has no later one."""
    if not lacking:
        return False
    newest = class_store.newest_slots(connection, lacking)
    return any(name not in newest or newest[name] < slot for name in lacking)


def _report(
    state: _BlockState, position: ClassPosition, labels: Mapping[int, RoundLabels]
) -> ClassReport:
    samples, rows = {}, []
    for value, monitor in state.classes.items():
        row = _class_row(value, monitor, state.rounds.get(value), labels)
        round_ = state.rounds.get(value)
        if row.missing is None and round_ is not None:
            try:
                samples[value] = labeled_sample(labels[round_.id], round_.settings.sample)
            except NoCurves as why:  # a stratum without any label
                row = row.model_copy(update={"missing": str(why)})
        rows.append(row)
    windows, before = [each.window for each in state.rounds.values()], position.before
    report = ClassReport(
        store_id=state.store_id,
        block=state.block,
        slot=state.slot,
        window_start=min(each.start for each in windows),
        window_end=max(each.end for each in windows),
        round=position.round,
        version=position.version,
        state=state.state,
        level=LEVEL,
        classes=tuple(rows),
        averages=(),
        new=() if before is None else tuple(each for each in state.classes if each not in before),
        gone=tuple(each for each in before or () if each not in state.classes),
    )
    return report if report.missing else _with_averages(report, state, samples, labels)


def _class_row(
    value: str, monitor: str | None, round_: Round | None, labels: Mapping[int, RoundLabels]
) -> ClassRow:
    if round_ is None:
        why = NO_MONITOR if monitor is None else NO_ROUND
        return ClassRow(value=value, monitor=monitor, round=None, missing=why)
    if round_.state is not RoundState.CLOSED:
        why = ended_text(round_.number, round_.state, round_.reason)
        return ClassRow(value=value, monitor=monitor, round=round_.number, missing=why)
    round_labels = labels[round_.id]
    return ClassRow(
        value=value,
        monitor=monitor,
        round=round_.number,
        flagged=sum(part.size for part in round_labels.strata if part.stratum.flagged),
        labeled=len(round_labels.labeled),
    )


def _with_averages(
    report: ClassReport,
    state: _BlockState,
    samples: Mapping[str, LabeledSample],
    labels: Mapping[int, RoundLabels],
) -> ClassReport:
    # scipy takes half a second
    from monitor.presentation.reasons import undefined_reason  # noqa: PLC0415
    from monitor.stats.estimation.class_averages import class_averages  # noqa: PLC0415
    from monitor.stats.estimation.class_samples import ClassSample  # noqa: PLC0415

    item_numbers: dict[str, int] = {}  # the same item has the same id in the rounds of all classes
    classes = [
        ClassSample(
            value,
            sample,
            [
                item_numbers.setdefault(item.id, len(item_numbers))
                for item in labels[state.rounds[value].id].labeled
            ],
        )
        for value, sample in samples.items()
    ]
    result = class_averages(classes, level=LEVEL, seed=int(state.state[:8], 16))
    return report.model_copy(
        update={
            "averages": tuple(
                AverageRow.taken_from(
                    row,
                    **{
                        each: getattr(row.interval, each, None) for each in ("point", "low", "high")
                    },
                    reason=None if row.reason is None else undefined_reason(row.reason),
                )
                for row in result.rows
            ),
            "labels": result.labels,
            "items": result.items,
            "unlabeled": sum(
                len(round_labels.items) - len(round_labels.labeled)
                for round_labels in labels.values()
            ),
        }
    )


def _effect(context: MonitorContext, state: _BlockState, report: ClassReport) -> NewEffect:
    """Make the effect that sends a report to MLflow, queued for the first class with an estimate.

    Prefers classes whose monitors are still in the config.
    """
    names = context.class_monitors.values()
    first = min(state.closed, key=lambda each: each.monitor not in names)
    return NewEffect(
        key=state.key,
        monitor_id=first.monitor_id,
        round_id=first.id,
        kind=EffectKind.CLASS_AVERAGES,
        sink=MLFLOW,
        payload=report.model_dump(mode="json"),
    )
