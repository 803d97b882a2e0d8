"""Check a window with the settings of its round and, if these fail, with today's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from monitor.domain.adapters import DIGESTS
from monitor.domain.errors import SourceRefused
from monitor.domain.round import Round
from monitor.domain.settings import RoundSettings
from monitor.domain.slots import slots_after
from monitor.presentation import setting_changes, windows
from monitor.rounds.context import MonitorContext
from monitor.rounds.sampling.aliases import with_alias
from monitor.rounds.sampling.baseline import doubts
from monitor.rounds.sampling.plausibility import Concern, refuse_unknown
from monitor.rounds.sampling.window_scan import WindowScan, scan_window, why_unusable
from monitor.storage.rounds import round_store

Values = dict[str, object]  # Settings by their names in the config

TODAY = "settings"
"""Kind of the concern that a round was drawn by other settings than it was opened with."""


@dataclass(frozen=True, slots=True)
class WindowCheck:
    """Result of checking a window.

    ``fault`` is why it cannot be sampled, ``public_fault`` the same without text from rows. A round
    waits because of ``concerns``, but not because of ``alias_concerns``.
    """

    scan: WindowScan | None
    fault: str | None = None
    public_fault: str | None = None
    concerns: tuple[Concern, ...] = ()
    alias_concerns: tuple[Concern, ...] = ()

    @property
    def usable(self) -> WindowScan | None:
        """The scan, if the window can be sampled."""
        return self.scan if self.fault is None else None

    @property
    def severity(self) -> int:
        """Severity of a problem of the settings: 2 if unusable, 1 if they look wrong, else 0."""
        if self.fault is not None:
            return 2
        return int(any(concern.is_setting for concern in self.concerns))

    def combine(self, today: WindowCheck) -> WindowCheck:
        """Return the check with the fault of today's settings added."""
        if self.fault is None or today.fault in {None, self.fault}:
            return self
        faults = (self.public_fault or self.fault, today.public_fault or today.fault or "")
        return replace(
            self,
            fault=setting_changes.both_faults_sentence(self.fault, today.fault or ""),
            public_fault=setting_changes.both_faults_sentence(*faults),
        )

    @property
    def why(self) -> str | None:
        """Why the round should wait; None if it can be drawn."""
        return self.fault or "; ".join(concern.sentence for concern in self.concerns) or None


@dataclass(frozen=True, slots=True)
class DrawTrial:
    """A round as it would be drawn with some settings, and the check of its window."""

    context: MonitorContext
    round: Round
    seen: WindowCheck
    concerns: tuple[Concern, ...] = ()
    is_of_today: bool = False


def best_trial(context: MonitorContext, round_: Round) -> DrawTrial:
    """Try a round's own settings and, if these fail, today's."""
    today = _of_today(context, round_)
    differences = source_differences(round_.settings, today)
    if differences and round_.settings.source is None:  # opened by an earlier release
        return _by_today(context, round_, differences, setting_changes.WITHOUT_SOURCE)
    own = _trial(context, round_)
    if not differences or not own.seen.severity:
        return own
    why = own.seen.public_fault or own.seen.why or ""
    other = _by_today(context, round_, differences, why)
    if other.seen.severity < own.seen.severity:
        return other
    return replace(own, seen=own.seen.combine(other.seen))


def _by_today(
    context: MonitorContext, round_: Round, differences: Sequence[str], why: str
) -> DrawTrial:
    today = with_alias(context, _of_today(context, round_))
    trial = _trial(context, replace(round_, settings=today))
    sentence = setting_changes.drawn_by_today_sentence(differences, why)
    concern = Concern(TODAY, sentence, is_setting=True)
    return replace(trial, concerns=(concern,), is_of_today=True)


def _trial(context: MonitorContext, round_: Round) -> DrawTrial:
    context = context.of_round(round_.settings)
    return DrawTrial(context, round_, _check_window(context, round_))


def _of_today(context: MonitorContext, round_: Round) -> RoundSettings:
    """Return the settings that the round would be opened with today, for the same window."""
    of_slot = ("schedule", "origin", "shown_version", "block")
    of_round = {name: getattr(round_.settings, name) for name in of_slot}
    return context.settings.round.model_copy(update=of_round)


def _check_window(context: MonitorContext, round_: Round) -> WindowCheck:
    try:
        scan = scan_window(context, round_)
        refuse_unknown(scan.frame, round_.settings)
        fault = why_unusable(scan.frame, round_.settings)
        if fault is not None and not scan.frame.rows:
            fault = _why_empty(context, round_)
        concerns = doubts(context, round_, scan.frame) if fault is None else ()
    except SourceRefused as error:
        public = (
            None if error.is_public else windows.held_back_sentence(round_.monitor, round_.number)
        )
        return WindowCheck(None, str(error), public)
    # Only if the rows do not name the version.
    alias = scan.alias if scan.frame.model_version is None else None
    unknown = () if alias is None else tuple(alias.concerns())
    return WindowCheck(scan, fault, concerns=concerns, alias_concerns=unknown)


def _why_empty(context: MonitorContext, round_: Round) -> str:
    """Describe where the predictions end, and how to run the newest window that has any."""
    window, span = round_.window, context.source.span()
    if span is None or span[1] >= window.end:
        return windows.empty_sentence(window, span and span[1])
    schedule = round_.settings.schedule
    slot = next(slots_after(schedule, span[1] + schedule.lag))
    with context.database.read() as connection:
        is_run = round_store.round_at(connection, round_.monitor_id, slot) is not None
    return windows.empty_sentence(window, span[1], None if is_run else (round_.monitor, slot))


def source_differences(before: RoundSettings, after: RoundSettings) -> tuple[str, ...]:
    """Return the names of source settings that differ between two rounds, sorted.

    A round that an earlier release opened has only some of them.
    """
    if before.source is None:
        old, new = _of_source_before(before), _of_source_before(after)
    else:
        old, new = _of_source(before), _of_source(after)
    return tuple(name for name in sorted({*old, *new}) if old.get(name) != new.get(name))


def _of_source(settings: RoundSettings) -> Values:
    source = dict(settings.source or {})
    digests = source.pop(DIGESTS, {})
    return {**_flat("source", {**source, **digests}), "judge": settings.judge}


def _of_source_before(settings: RoundSettings) -> Values:
    return {
        "source.threshold": settings.threshold,
        "source.challenger": settings.challenger,
        "source.columns.released": settings.released,
        "judge": settings.judge,
    }


def _flat(name: str, value: object) -> Values:
    """List the settings of a section and of its subsections by their full names."""
    if not isinstance(value, dict):
        return {name: value}
    return {
        key: setting
        for below, each in value.items()
        for key, setting in _flat(f"{name}.{below}", each).items()
    }
