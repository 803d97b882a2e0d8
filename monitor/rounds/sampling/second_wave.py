"""The first round of a history in two waves: what goes out later, and when.

Before it nobody knows what the scores are worth, so its plan spends labels where a good score
needs none (`monitor.stats.design.two_waves`). Its total is fixed: the second wave only chooses the
strata. The items it may take are kept from the draw, so the window is never read again.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from monitor.domain.crashpoint import outside
from monitor.presentation.moves import second_wave_reason
from monitor.rounds.sampling.overlap import doubled
from monitor.rounds.sampling.plan import positions
from monitor.stats.design.two_waves import first_wave, second_wave
from monitor.storage import frame_store, round_claims, round_moves, wave_store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from monitor.domain.model import Frame, Item
    from monitor.domain.settings import RoundSettings
    from monitor.rounds.context import MonitorContext
    from monitor.storage.round_claims import Claim
    from monitor.storage.round_labels import RoundLabels
    from monitor.storage.round_store import Round

FEWEST_BANDS = 2  # of a class: one has no other answers from which its rate could be learned


def first_items(frame: Frame, planned: Sequence[int], settings: RoundSettings) -> list[int] | None:
    """Items of each stratum in wave 1; None where a round goes out at once."""
    if settings.sample.second_wave is None:
        return None
    for flagged in (True, False):
        bands = [p for p in frame.strata if p.stratum.flagged is flagged and p.size > 0]
        if len(bands) < FEWEST_BANDS:
            return None
    first: list[int] = first_wave(planned).tolist()
    return first if sum(first) < sum(planned) else None


def waves_before(frame: Frame, settings: RoundSettings) -> list[int] | list[None]:
    """Give each stratum the first wave that it had when the round was done before.

    Its items all go out at once then, but its evidence counts wave by wave.
    """
    before = settings.first_wave or {}
    if {part.stratum.name for part in frame.strata} != set(before):
        return [None] * len(frame.strata)
    return [before[part.stratum.name] for part in frame.strata]


def with_later(planned: Sequence[int], first: Sequence[int]) -> list[int]:
    """Items of each stratum at most: wave 2 can give all that it has to any one."""
    later = sum(planned) - sum(first)
    return [size + later for size in first]


def spare_items(candidates: Sequence[Item], frame: Frame, first: Sequence[int]) -> list[Item]:
    """Choose the candidates behind those of wave 1."""
    early = {part.stratum.name: size for part, size in zip(frame.strata, first, strict=True)}
    return [item for item in candidates if item.order >= early[item.stratum]]


def goes_out_at(settings: RoundSettings, now: datetime, deadline: datetime) -> datetime | None:
    """Give the time at which wave 2 goes out at the latest, for a round drawn now."""
    share = settings.sample.second_wave
    return None if share is None else now + share * (deadline - now)


def hand_out_rest(
    context: MonitorContext, round_: Round, labels: RoundLabels, claim: Claim
) -> None:
    """Draw wave 2 from the reserve, by the labels there are; all of it or nothing is stored."""
    with context.database.read() as connection:
        spare = wave_store.read_reserve(connection, round_.id)
    more = _sizes(round_, labels, spare)
    drawn = [
        item
        for name, size in more.items()
        for item in [item for item in spare if item.stratum == name][:size]
    ]
    # Before the transaction: a source that takes minutes must not hold the store's write lock.
    with outside("show"):
        shown = context.source.show([item.id for item in drawn], round_.window) if drawn else {}
    planned = {
        part.stratum.name: (part.first_wave or 0) + more[part.stratum.name]
        for part in labels.strata
    }
    with context.database.write() as connection:
        round_claims.hold(connection, claim)
        wave_store.end_waiting(connection, round_.id, planned)
        frame_store.add_items(
            connection,
            round_.id,
            drawn,
            shown=shown,
            doubled=doubled(drawn, round_.settings.overlap),
        )
        reason = second_wave_reason(
            len(drawn), answered=_answered(labels), wanted=sum(planned.values()) - len(drawn)
        )
        round_moves.note_event(connection, round_, reason, context.clock())


def give_up(context: MonitorContext, labels: RoundLabels, claim: Claim) -> None:
    """Let wave 1 be all of a round whose time for labeling is over."""
    with context.database.write() as connection:
        round_claims.hold(connection, claim)
        planned = {part.stratum.name: part.first_wave or 0 for part in labels.strata}
        wave_store.end_waiting(connection, claim.round_id, planned)


def is_due(round_: Round, labels: RoundLabels, now: datetime) -> bool:
    """Whether wave 2 goes out now: wave 1 is answered, or its time is over."""
    if round_.second_wave_at is None:
        return False
    return now >= round_.second_wave_at or _answered(labels) >= len(labels.items)


def _answered(labels: RoundLabels) -> int:
    return sum(tally.labeled + tally.declined for tally in labels.counts())


def _sizes(round_: Round, labels: RoundLabels, spare: Sequence[Item]) -> dict[str, int]:
    """Items of each stratum in wave 2."""
    tallies = labels.counts()
    scores = defaultdict[str, list[float | None]](list)
    for stratum, score in [
        *((item.stratum, item.score) for item in labels.items),
        *((item.stratum, item.score) for item in spare),
    ]:
        scores[stratum].append(score)
    is_flagged = [part.stratum.flagged for part in tallies]
    more = second_wave(
        [part.size for part in tallies],
        is_flagged,
        positions([scores[part.stratum.name] for part in tallies], is_flagged),
        plan=[part.planned for part in tallies],
        first=[part.first_wave or 0 for part in tallies],
        labeled=[part.labeled for part in tallies],
        positive=[part.positive for part in tallies],
        margins=round_.settings.sample.margin.wanted() or None,
    )
    sizes: list[int] = more.tolist()
    return {part.stratum.name: size for part, size in zip(tallies, sizes, strict=True)}
