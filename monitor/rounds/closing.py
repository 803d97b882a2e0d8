"""What a round that takes labels does next: hand out its second wave, close, or wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.domain.errors import RoundMoved
from monitor.domain.labels import evidence_label
from monitor.presentation.moves import LIMITS_OF_TODAY, closed_reason, unlabeled_reason
from monitor.rounds import publish
from monitor.rounds.labels.collect import send
from monitor.rounds.sampling import second_wave
from monitor.storage import copy_store, round_moves, round_store
from monitor.storage.copy_store import Copies
from monitor.storage.round_labels import read_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from monitor.rounds.context import MonitorContext
    from monitor.storage.frame_store import StratumTally
    from monitor.storage.round_claims import Claim
    from monitor.storage.round_labels import RoundLabels
    from monitor.storage.round_store import Round

_RETRIES = 5  # of a publish that met another one; each loser has let one winner through


@dataclass(frozen=True, slots=True)
class Stand:
    """A round that takes labels, and the labels that it has, as one transaction read them."""

    round: Round
    labels: RoundLabels
    copies: Copies


def go_on(context: MonitorContext, stand: Stand, claim: Claim) -> None:
    """Hand out the second wave of a round, or close it; nothing where it is not time for either."""
    if second_wave.is_due(stand.round, stand.labels, context.clock()):
        if second_wave.hand_out_rest(context, stand.round, stand.labels, claim):
            send(context, stand.round, claim)
            return
        stand = _again(context, stand)  # its first wave is all of it now
    _close_if_due(context, stand, claim)


def _again(context: MonitorContext, stand: Stand) -> Stand:
    with context.database.read() as connection:
        return read_stand(connection, round_store.read_round(connection, stand.round.id))


def read_stand(connection: Connection, round_: Round) -> Stand:
    """Read the labels of a round that takes some."""
    labels = read_labels(connection, round_)
    has_copies = round_.settings.overlap > 0
    copies = copy_store.read_copies(connection, round_.id) if has_copies else Copies(0, 0)
    return Stand(round_, labels, copies)


def _close_if_due(context: MonitorContext, stand: Stand, claim: Claim) -> None:
    round_, labels, copies = stand.round, stand.labels, stand.copies
    answered = sum(tally.labeled + tally.declined for tally in labels.counts())
    wanted = sum(part.planned for part in labels.strata)
    if (answered < wanted or copies.missing) and not round_.is_late(context.clock()):
        return
    # A disputed item has a label here: it is unclear which, but somebody looked at it.
    empty = _class_without_label(labels.counts(evidence_label))
    if empty is not None:
        reason = unlabeled_reason(empty, answered=answered, wanted=wanted)
        publish.abandon(context, round_, claim, reason)
        return
    _watch_by_todays_limits(context, round_, claim)
    cut_short = second_wave.was_given_up(labels.strata)
    reason = closed_reason(
        answered=answered,
        wanted=wanted,
        second_answered=copies.answered,
        second_wanted=copies.wanted,
        cut_short=cut_short,
    )
    retried(lambda: publish.close(context, round_, claim, reason=reason, labels=labels))


def _watch_by_todays_limits(context: MonitorContext, round_: Round, claim: Claim) -> None:
    """Let a closing round be watched by the limits that the config has now.

    Those that it was opened with may be none, or older. Nobody is shown an estimate of an open
    round, so the limits are fixed before what they judge (docs/method.md).
    """
    limits = context.settings.round.limits
    if limits != round_.settings.limits:
        with context.database.write() as connection:
            now = context.clock()
            round_moves.set_limits(connection, claim, round_, limits, LIMITS_OF_TODAY, now)


def _class_without_label(strata: list[StratumTally]) -> str | None:
    for name, flagged in (("flagged", True), ("passed", False)):
        mine = [part for part in strata if part.stratum.flagged == flagged]
        if any(part.planned for part in mine) and not any(part.labeled for part in mine):
            return name
    return None


def retried(act: Callable[[], None], times: int = _RETRIES) -> None:
    """Do a step again that met another worker."""
    for _ in range(times):
        try:
            act()
        except RoundMoved:
            continue
        return
    act()
