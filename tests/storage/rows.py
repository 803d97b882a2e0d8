"""Rows that tests of the store begin with."""

from datetime import timedelta
from typing import Any

import numpy as np
from sqlalchemy import text

from monitor.domain.model import (
    Answer,
    BandEdges,
    EffectKind,
    Item,
    LabelEvent,
    LabelKind,
    Stratum,
)
from monitor.domain.slots import window_of
from monitor.domain.state import RoundState
from monitor.presentation.delivery import INTERRUPTED
from monitor.storage.labels import label_store
from monitor.storage.outbox import effect_store
from monitor.storage.outbox.effect_store import NewEffect
from monitor.storage.rounds import round_claims, round_store, round_transitions
from monitor.storage.samples import frame_store
from monitor.storage.samples.frame_store import StratumTally
from tests.rounds.scene import MONDAY, WEEK, settings

FLAGGED, PASSED = Stratum("flagged", flagged=True), Stratum("passed", flagged=False)
STRATA = (FLAGGED, PASSED)
MODEL: dict[str, Any] = {"model_version": None, "threshold": 0.5, "key_parts": (None, 1, 1)}


def read(database, query, *args, **named):
    """Ask a store with one of the program's functions."""
    with database.read() as connection:
        return query(connection, *args, **named)


def write(database, change, *args, **named):
    """Change a store with one of the program's functions."""
    with database.write() as connection:
        return change(connection, *args, **named)


def rows(database, query, **values):
    with database.read() as connection:
        return [dict(row) for row in connection.execute(text(query), values).mappings()]


def slot_of(number):
    return MONDAY + (number - 1) * WEEK


def add_monitor(database, name="mail"):
    return write(database, round_store.ensure_monitor, name, MONDAY)


def add_round(database, number=1, monitor="mail", state=RoundState.OPEN):
    with database.write() as connection:
        added = round_transitions.add_rounds(
            connection,
            monitor_id=round_store.ensure_monitor(connection, monitor, MONDAY),
            first_number=number,
            slots=[slot_of(number)],
            windows=[window_of(settings().schedule, slot_of(number))],
            state=state,
            settings=settings(),
            now=MONDAY,
            reason="due",
        )
    return next(iter(added), None)


def claimed(database, round_id):
    return write(database, round_claims.claim_round, round_id)


def add_history(connection, monitor_id, **changes):
    return frame_store.add_history(
        connection,
        monitor_id,
        **(MODEL | changes),
        edges=BandEdges(),
        reference=None,
        now=MONDAY,
    )


def draw(database, round_id, *, sizes=(100, 900), expected=(5, 5), strata=STRATA):
    """Give a round its history and a sample, as the draw does; returns the claim's end: labeling.

    Items are named ``<stratum>-<order>``.
    """
    claim = claimed(database, round_id)
    with database.write() as connection:
        round_ = round_store.read_round(connection, round_id)
        known = frame_store.history_for(connection, round_.monitor_id, **MODEL, unscored=False)
        history = known.id if known else add_history(connection, round_.monitor_id)
        planned = [StratumTally(*each) for each in zip(strata, sizes, expected, strict=True)]
        frame_store.write_strata(connection, round_id, planned)
        drawn = [
            Item(f"{stratum.name}-{order}", stratum.name, order, None, stratum.flagged)
            for stratum, count in zip(strata, expected, strict=True)
            for order in range(count)
        ]
        frame_store.add_items(connection, round_id, drawn, shown={})
        round_transitions.move(
            connection,
            claim,
            RoundState.OPEN,
            RoundState.LABELING,
            reason="drew",
            now=MONDAY,
            history_id=history,
        )
        round_claims.release_round(connection, claim)


def say_at_random(connection, keys, people, count, now):
    """Let people answer tasks, and take answers back, a minute after another."""
    rng = np.random.default_rng(7)
    for minute in range(count):
        answer = [*Answer, None][rng.integers(len(Answer) + 1)]
        said = LabelEvent(
            keys[rng.integers(len(keys))],
            people[rng.integers(len(people))],
            answer,
            kind=LabelKind.WITHDRAWN if answer is None else LabelKind.GIVEN,
            at=now + timedelta(minutes=minute),
        )
        label_store.add_events(connection, "memory", [said], now)


def add_effect(
    database, round_id, key, *, sink="ops", kind=EffectKind.NOTICE, now=MONDAY, **payload
):
    with database.write() as connection:
        monitor_id = round_store.read_round(connection, round_id).monitor_id
        effect = NewEffect(key, monitor_id, round_id, kind, sink, payload={"key": key, **payload})
        effect_store.add_effects(connection, [effect], now)


def claimed_effect(database, effect_id, now=MONDAY):
    """Take an effect that is known to be free."""
    effect = write(database, effect_store.claim_effect, effect_id, now, interrupted=INTERRUPTED)
    assert effect is not None
    return effect
