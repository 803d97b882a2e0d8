"""Which items a round asks about: at its draw, and in the second wave of a history's first round.

The total of two waves is fixed: the second only chooses the strata, by what the first found the
scores to be worth (`monitor.stats.design.two_waves`). The items it may take are kept from the draw.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from monitor.domain.crashpoint import outside
from monitor.domain.errors import SnapshotMissing, SourceRefused
from monitor.domain.judge import OnDemandJudge
from monitor.domain.label_parts import parts_of, rules_of
from monitor.domain.model import Frame, Item, StratumFrame
from monitor.domain.ports import Source, as_counted
from monitor.domain.settings import RoundSettings
from monitor.domain.shown import Shown
from monitor.presentation.moves import NO_SECOND_WAVE, second_wave_reason
from monitor.presentation.windows import removed_items_sentence
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.judge import cut_of
from monitor.rounds.sampling.plan import (
    broken_pictures,
    checked_sizes,
    doubled,
    items_of,
    positions,
    uniform_of,
)
from monitor.stats.design.allocation import Allocation
from monitor.stats.design.two_waves import first_wave, second_wave
from monitor.storage.labels.round_labels import DrawnItem, RoundLabels
from monitor.storage.rounds import round_claims, round_transitions
from monitor.storage.rounds.round_claims import Claim
from monitor.storage.rounds.round_store import Round
from monitor.storage.samples import frame_store
from monitor.storage.samples.frame_store import StratumTally

FEWEST_BANDS = 2  # of a class: one has no other answers from which its rate could be learned


def has_two_waves(frame: Frame, settings: RoundSettings) -> bool:
    """Whether a round of such a window, the first of its history, goes out in two waves."""
    if len(parts_of(settings.labeling)) > 1:  # the first of them may take weeks to answer
        return False
    if settings.counted_whole:
        return False
    bands = Counter(part.stratum.flagged for part in frame.strata if part.size > 0)
    fewest = min(bands[True], bands[False])
    return settings.sample.second_wave is not None and fewest >= FEWEST_BANDS


def first_items(
    frame: Frame, planned: Sequence[int], settings: RoundSettings, seed: str
) -> list[int] | None:
    """Items of each stratum in wave 1 of a history's first round; None if all go out at once."""
    if not has_two_waves(frame, settings):
        return None
    first: list[int] = first_wave(planned, uniform_of(settings, seed)).tolist()
    return first if sum(first) < sum(planned) else None


def waves_before(frame: Frame, settings: RoundSettings) -> list[int] | list[None]:
    """Give each stratum the first wave of a round done again: evidence counts wave by wave."""
    before = settings.first_wave or {}
    if not is_same_strata(frame.strata, before):
        return [None] * len(frame.strata)
    return [before.get(part.stratum.name, 0) for part in frame.strata]


def is_same_strata(parts: Sequence[StratumFrame | StratumTally], before: Collection[str]) -> bool:
    """Whether an earlier report has the same strata; it may leave out empty ones."""
    held = {part.stratum.name for part in parts if part.size}
    return bool(before) and held <= set(before) <= {part.stratum.name for part in parts}


def goes_out_at(
    settings: RoundSettings, now: datetime, deadline: datetime, *, asks_people: bool
) -> datetime | None:
    """Give the time at which wave 2 goes out at the latest, for a round drawn now.

    Labels that come by themselves may be of one kind at first, such as complaints.
    """
    share = settings.sample.second_wave
    if share is None:
        return None
    return now + share * (deadline - now) if asks_people else deadline


def hand_out_rest(
    context: MonitorContext, round_: Round, labels: RoundLabels, claim: Claim
) -> bool:
    """Assign wave 2 by the labels there are; false where wave 1 is now all of the round.

    People are not asked after the deadline. Raises `SourceRefused` if they cannot be shown the
    items: too many have left the predictions, or have broken pictures.
    """
    asks_people = context.asks_people(round_.settings)
    if asks_people and round_.is_late(context.clock()):
        with context.database.write() as connection:
            round_claims.hold(connection, claim)
            frame_store.end_waiting(connection, round_.id, _first(labels))
            round_transitions.note_event(connection, round_, NO_SECOND_WAVE, context.clock())
        return False
    drawn = _chosen(context, round_, labels)
    shown = _shown(context, round_, drawn) if asks_people else {item.id: {} for item in drawn}
    _write(context, round_, labels, claim, drawn, shown)
    return True


def _shown(context: MonitorContext, round_: Round, drawn: Sequence[Item]) -> Mapping[str, Shown]:
    """Read what people are shown of wave 2; as in a window, few rows may be unusable."""
    if not drawn:
        return {}
    # Before the transaction: a source that takes minutes must not hold the store's write lock.
    shown = _read(context, round_, [item.id for item in drawn])
    removed = sum(item.id not in shown for item in drawn)
    if removed > round_.settings.bad_rows_max * len(drawn):
        raise SourceRefused(removed_items_sentence(removed, len(drawn)), is_public=True)
    broken_pictures(shown.values(), round_.settings)
    return shown


def _read(context: MonitorContext, round_: Round, ids: Sequence[str]) -> Mapping[str, Shown]:
    """Read items as they were drawn, or as they are now where that is kept no longer."""

    def read(source: Source) -> Mapping[str, Shown]:
        with outside("show"):
            return source.show(ids, round_.window)

    def read_as_drawn(each: MonitorContext) -> Mapping[str, Shown]:
        try:
            return read(as_counted(each.source, round_.snapshot))
        except SnapshotMissing:
            return read(each.source)

    return context.try_of_round(round_.settings, read_as_drawn)


def _chosen(context: MonitorContext, round_: Round, labels: RoundLabels) -> list[Item]:
    with context.database.read() as connection:
        spare = frame_store.read_reserve(connection, round_.id)
    by_stratum = defaultdict[str, list[Item]](list)
    for item in spare:
        by_stratum[item.stratum].append(item)
    more = _sizes(round_, labels, spare)
    return [item for name, size in more.items() for item in by_stratum[name][:size]]


def _write(
    context: MonitorContext,
    round_: Round,
    labels: RoundLabels,
    claim: Claim,
    drawn: Sequence[Item],
    shown: Mapping[str, Shown],
) -> None:
    # Not as wished for: an item that was to be forgotten has left the reserve, or the source.
    late = [item for item in drawn if item.id in shown]
    sizes = Counter(item.stratum for item in late)
    first = _first(labels)
    with context.database.write() as connection:
        round_claims.hold(connection, claim)
        planned = {name: size + sizes[name] for name, size in first.items()}
        frame_store.end_waiting(connection, round_.id, planned)
        frame_store.add_items(
            connection,
            round_.id,
            late,
            shown=shown,
            doubled=doubled(late, round_.settings),
            rules=rules_of(round_.settings.labeling),
        )
        reason = second_wave_reason(
            len(late),
            answered=labels.answered,
            expected=sum(first.values()),
            removed=len(drawn) - len(late),
        )
        round_transitions.note_event(connection, round_, reason, context.clock())


def _first(labels: RoundLabels) -> dict[str, int]:
    return {part.stratum.name: part.first_wave or 0 for part in labels.strata}


def is_due(round_: Round, labels: RoundLabels, now: datetime) -> bool:
    """Whether wave 2 goes out now: wave 1 is answered, or its time is over."""
    if round_.second_wave_at is None:
        return False
    return now >= round_.second_wave_at or labels.answered >= len(labels.items)


def _sizes(round_: Round, labels: RoundLabels, spare: Sequence[Item]) -> dict[str, int]:
    """Items of each stratum in wave 2; as before where the round is done again."""
    before, first = round_.settings.planned or {}, _first(labels)
    if is_same_strata(labels.strata, before):
        return {name: max(0, before.get(name, 0) - size) for name, size in first.items()}
    tallies = labels.counts()
    spare_of = Counter(item.stratum for item in spare)
    scores = defaultdict[str, list[float | None]](list)
    candidates: list[DrawnItem | Item] = [*labels.items, *spare]
    for item in candidates:
        scores[item.stratum].append(item.score)
    is_flagged = [part.stratum.flagged for part in tallies]
    cut = cut_of([part.stratum for part in tallies])
    more = second_wave(
        [part.size for part in tallies],
        is_flagged,
        positions(
            [scores[part.stratum.name] for part in tallies],
            is_flagged,
            None if cut is None else cut.position.tolist(),
        ),
        plan=[part.planned for part in tallies],
        first=[part.first_wave or 0 for part in tallies],
        labeled=[part.labeled for part in tallies],
        positive=[part.positive for part in tallies],
        margins=round_.settings.sample.margin.wanted() or None,
        uniform=uniform_of(round_.settings, round_.seed, wave=2),
        terms=None if cut is None else cut.terms,
        most=[(part.first_wave or 0) + spare_of[part.stratum.name] for part in tallies],
    )
    sizes: list[int] = more.tolist()
    return {part.stratum.name: size for part, size in zip(tallies, sizes, strict=True)}


@dataclass(frozen=True, slots=True)
class RoundSample:
    """What a round asks about: labels of each stratum, and the items that go out now.

    ``first`` has the sizes of the first wave, ``waves`` in a round that is done again. ``counted``
    items are labeled where they are. ``checkers`` has who checks the labels of a column, by item.
    """

    sizes: list[int]
    first: Sequence[int] | None
    waves: Sequence[int | None]
    counted: int
    items: list[Item]
    checkers: Mapping[str, int]
    is_repeated: bool

    def tallies(self, frame: Frame) -> list[StratumTally]:
        """Give each stratum its items and its first wave."""
        first = self.first or self.waves
        return [
            StratumTally(part.stratum, part.size, size, first_wave=early, judged=part.judged)
            for part, size, early in zip(frame.strata, self.sizes, first, strict=True)
        ]

    def spare(self, frame: Frame) -> list[Item]:
        """Choose the candidates behind wave 1: all that wave 2, if any, could give a stratum."""
        if self.first is None:
            return []
        later = sum(self.sizes) - sum(self.first)
        early = {part.stratum.name: n for part, n in zip(frame.strata, self.first, strict=True)}
        candidates = items_of(frame, [size + later for size in self.first])
        return [item for item in candidates if item.order >= early[item.stratum]]


def choose_items(round_: Round, frame: Frame, plan: Allocation, *, is_new: bool) -> RoundSample:
    """Take the items of a plan; ``is_new``: nothing is known of the strata."""
    settings = round_.settings
    before = _as_before(frame, settings)
    # Databases know no numpy integers; of some strata not every item can be labeled.
    sizes: list[int] = before or [
        min(labels, part.available)
        for labels, part in zip(plan.labels.tolist(), frame.strata, strict=True)
    ]
    begins = is_new and before is None
    first = first_items(frame, sizes, settings, round_.seed) if begins else None
    whole = settings.counted_whole
    counted = [part.size if part.stratum.flagged in whole else 0 for part in frame.strata]
    sizes = [max(pair) for pair in zip(sizes, counted, strict=True)]
    checks = checked_sizes(frame, sizes, settings)
    out = zip(counted, first or sizes, checks, strict=True)
    items = items_of(frame, [check if n else m for n, m, (check, _) in out])
    check_of = {part.stratum.name: of for part, of in zip(frame.strata, checks, strict=True)}
    return RoundSample(
        sizes=sizes,
        first=first,
        waves=[None] * len(sizes) if before is None else waves_before(frame, settings),
        counted=sum(counted),
        items=items,
        checkers={
            item.id: check_of[item.stratum][1]
            for item in items
            if item.order < check_of[item.stratum][0]
        },
        is_repeated=before is not None,
    )


def _as_before(frame: Frame, settings: RoundSettings) -> list[int] | None:
    """Give each stratum what it had when the round was done before: its answers are there."""
    before = settings.planned or {}
    if not is_same_strata(frame.strata, before):
        return None
    again = [min(before.get(part.stratum.name, 0), len(part.candidates)) for part in frame.strata]
    if isinstance(settings.judge, OnDemandJudge) and sum(again) < sum(before.values()):
        return None  # its verdicts were lost, and asked again it says something else, or nothing
    return again
