"""What a person with `sqlite3` or `psql` finds first."""

from datetime import timedelta

import pytest

from monitor.domain.model import EffectKind, Stratum
from monitor.domain.state import RoundState
from monitor.storage.outbox import effect_store
from monitor.storage.results import estimate_store
from monitor.storage.rounds import round_transitions
from monitor.storage.samples.frame_store import StratumTally
from tests.rounds.scene import MONDAY
from tests.storage.rows import (
    add_effect,
    add_round,
    claimed,
    claimed_effect,
    draw,
    rows,
    slot_of,
)

BANDS = (
    Stratum("flagged-1", flagged=True),
    Stratum("flagged-2", flagged=True),
    Stratum("passed", flagged=False),
)


def closed(database, counted):
    """A round with a version, which is the (labeled, positive, declined) of every stratum."""
    sizes, planned = (100, 60, 4000), (10, 25, 40)
    round_id = add_round(database)
    draw(database, round_id, sizes=sizes, expected=planned, strata=BANDS)
    claim = claimed(database, round_id)
    tallies = [
        StratumTally(stratum, size, wanted, *cells)
        for stratum, size, wanted, cells in zip(BANDS, sizes, planned, counted, strict=True)
    ]
    with database.write() as connection:
        round_transitions.move(
            connection, claim, RoundState.LABELING, RoundState.CLOSED, reason="in", now=MONDAY
        )
        estimate_store.write_counts(connection, {(round_id, 1): tallies})
        estimate_store.set_version(connection, round_id, 1, estimated_revision=0)


def test_the_matrix_holds_what_was_labeled_and_what_that_makes_in_the_window(database):
    closed(database, [(10, 8, 0), (20, 15, 2), (40, 1, 0)])

    [found] = rows(database, "select * from confusion_matrices")

    labeled = {name: found[name] for name in ("tp", "fp", "fn", "tn", "declined", "unanswered")}
    window = {name: found[f"window_{name}"] for name in ("tp", "fp", "fn", "tn")}
    assert labeled == {"tp": 23, "fp": 7, "fn": 1, "tn": 39, "declined": 2, "unanswered": 3}
    assert window == pytest.approx({"tp": 125, "fp": 35, "fn": 100, "tn": 3900})
    assert (found["flagged_size"], found["passed_size"]) == (160, 4000)
    assert (found["monitor"], found["round"], found["version"]) == ("mail", 1, 1)
    assert (found["model_version"], found["threshold"]) == (None, 0.5)
    assert {type(value) for value in labeled.values()} == {int}  # on every database
    assert {type(value) for value in window.values()} == {float}


@pytest.mark.parametrize(
    ("counted", "blank"),
    [
        ([(0, 0, 0), (20, 15, 0), (40, 1, 0)], {"tp", "fp"}),
        ([(10, 8, 0), (20, 15, 0), (0, 0, 4)], {"fn", "tn"}),
    ],
)
def test_a_class_with_a_stratum_without_labels_is_not_scaled(database, counted, blank):
    closed(database, counted)

    [found] = rows(database, "select * from confusion_matrices")

    assert {name for name in ("tp", "fp", "fn", "tn") if found[f"window_{name}"] is None} == blank
    assert found["tp"] + found["fp"] + found["fn"] + found["tn"] == sum(c[0] for c in counted)


def test_waiting_effects_tell_what_waits_since_when_and_for_what(database):
    ids = [add_round(database, number) for number in (1, 2)]
    add_effect(database, ids[0], "a", sink="mlflow", kind=EffectKind.ROUND_RUN)
    add_effect(database, ids[0], "b", sink="mlflow", kind=EffectKind.FLEET_POINT)
    add_effect(database, ids[1], "c", sink="mlflow", now=slot_of(2))
    add_effect(database, ids[0], "d", sink="ops")
    done, head = claimed_effect(database, 4), claimed_effect(database, 1)
    later = MONDAY + timedelta(minutes=1)
    with database.write() as connection:
        effect_store.finish_effect(connection, done, "HTTP 200", MONDAY)
        effect_store.put_off_effect(connection, head, "it does not answer", later)

    [found] = rows(database, "select * from waiting_effects")
    with database.read() as connection:
        [same] = effect_store.find_waiting(connection)

    assert [found[name] for name in ("monitor", "sink", "waiting", "rounds", "tries")] == [
        *("mail", "mlflow", 3, 2, 1)
    ]
    assert found["last_error"] == "it does not answer"
    assert [str(found[name])[:16] for name in ("since", "next_try")] == [
        "2025-03-03 06:00",
        "2025-03-03 06:01",
    ]
    assert (same.effects, same.rounds, same.since, same.next_try) == (3, 2, MONDAY, later)
    assert (same.tries, same.last_error) == (1, "it does not answer")
