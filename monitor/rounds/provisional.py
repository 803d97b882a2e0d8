"""Track how a round's labels arrive, and keep its early estimate up to date."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from monitor.domain.crashpoint import outside
from monitor.domain.label_parts import column_classes, maturity_of, parts_of
from monitor.domain.ports import ReadsTruth
from monitor.domain.round import Round
from monitor.domain.settings import RoundSettings
from monitor.domain.state import RoundState
from monitor.rounds.context import MonitorContext
from monitor.rounds.early_estimates import Followed, early_row, labels_so_far
from monitor.rounds.paces import (
    FollowedRound,
)
from monitor.rounds.reporting.concerns import note_provisional
from monitor.storage.database import in_chunks
from monitor.storage.labels import provisional_store
from monitor.storage.labels.provisional_store import DatedScore, PositiveCount
from monitor.storage.labels.round_labels import RoundLabels
from monitor.storage.rounds import round_claims, round_store
from monitor.storage.rounds.round_claims import Claim

SHORTEST = timedelta(days=1)  # labels that mature sooner get no early estimate
FOLLOWED = 26  # newest closed rounds, besides open ones, to learn delays from
READINGS = 100  # of a round until it matures


def follow_labels(
    context: MonitorContext,
    round_: Round,
    labels: RoundLabels,
    claim: Claim,
    *,
    closes: bool = False,
) -> None:
    """Count a round's maturing labels, and estimate it early unless it ``closes`` now."""
    columns, now = followed_classes(round_.settings), context.clock()
    if not columns or now < round_.window.end:
        return
    with context.database.read() as connection:
        newest = provisional_store.newest_reading(connection, round_.id)
        pause = timedelta(0) if closes else _pause(columns)
        if newest is not None and now <= newest + pause:
            return
        readings = provisional_store.read_followed(
            connection, round_.monitor_id, round_.id, FOLLOWED
        )
        rounds = round_store.read_rounds(connection, {*readings, round_.id})
    tallies = labels.counts()
    own = [one for one in tallies if one.stratum.flagged in columns]
    reading = PositiveCount(
        now,
        *(sum(one.positive for one in own if one.stratum.flagged == up) for up in (True, False)),
    )
    new = [*([] if newest else _dated(context, round_, labels, columns)), reading]
    readings[round_.id] = [*readings.get(round_.id, []), *new]
    scores = {} if closes else _scores(context, round_, [each.id for each in rounds])
    followed = [
        FollowedRound(
            each.window.end,
            each.state is RoundState.CLOSED,
            readings[each.id],
            scores.get(each.id, ()),
        )
        for each in sorted(rounds, key=lambda each: each.id == round_.id)
        if all(followed_classes(each.settings).get(up, of) == of for up, of in columns.items())
    ]
    row = None
    if not closes:
        early = labels_so_far(round_, tallies, columns)
        row = early_row(early, columns, followed, round_.sobol_seed)
    with context.database.write() as connection:
        round_claims.hold(connection, claim)
        provisional_store.write_readings(connection, round_.id, new, row)
        note_provisional(connection, round_, row, now)


def _dated(
    context: MonitorContext, round_: Round, labels: RoundLabels, columns: Followed
) -> list[PositiveCount]:
    """Rebuild the readings before the first one; empty unless all positive rows have a time."""
    flagged = labels.is_flagged
    own = [one for one in labels.labeled if one.positive and flagged[one.stratum] in columns]
    if labels.censuses or not own:
        return []
    since = _positive_since(context, round_, [item.id for item in own])
    if any(item.id not in since for item in own):
        return []
    end, pause, now = round_.window.end, _pause(columns), context.clock()
    steps = {item.id: max(0, math.ceil((since[item.id] - end) / pause)) for item in own}
    result = []
    for step in sorted({0, *steps.values()}):
        came = Counter(flagged[item.stratum] for item in own if steps[item.id] <= step)
        if end + step * pause < now:
            result.append(PositiveCount(end + step * pause, came[True], came[False]))
    return result


def _scores(
    context: MonitorContext, round_: Round, round_ids: Sequence[int]
) -> dict[int, list[DatedScore]]:
    """Read the scores of drawn positive items, and when their labels came, by round."""
    with context.database.read() as connection:
        scores = in_chunks(connection, round_ids, provisional_store.read_scores)
    ids = sorted({one.item for of_round in scores.values() for one in of_round})
    since = _positive_since(context, round_, ids)
    return {
        each: [replace(one, at=since.get(one.item, one.at)) for one in of_round]
        for each, of_round in scores.items()
    }


def _positive_since(
    context: MonitorContext, round_: Round, ids: Collection[str]
) -> dict[str, datetime]:
    """Return when items were first known as positive, without items whose rows have no time."""
    since: dict[str, datetime] = {}
    for one in context.labelers_of(round_.settings):
        if ids and isinstance(one.labeler, ReadsTruth):
            with outside("collect"):
                since |= one.labeler.positive_since(ids)
    return since


def showed_estimate(context: MonitorContext, round_: Round) -> bool:
    """Whether a round showed a provisional estimate."""
    if not followed_classes(round_.settings):
        return False
    with context.database.read() as connection:
        return bool(provisional_store.first_estimates(connection, [round_.id]))


def followed_classes(settings: RoundSettings) -> Followed:
    """Return the column settings of the predicted classes whose labels take a day or more."""
    parts = parts_of(settings.labeling)
    of_class = {flagged: parts[part] for flagged, part in column_classes(settings.labeling).items()}
    return {
        flagged: {name: own[name] for name in own if name not in {"checks", "deadline", "for"}}
        for flagged, own in of_class.items()
        if maturity_of(own) >= SHORTEST
    }


def _pause(columns: Followed) -> timedelta:
    return min(map(maturity_of, columns.values())) / READINGS
