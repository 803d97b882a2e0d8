"""Faults planted into the product, each of which the checker has to find.

The product guards most things twice. Where one guard alone hides the lack of the other, both are
taken out, and the name says so.
"""

from typing import Any

from sqlalchemy import update

from monitor.storage.rounds import round_claims, round_transitions
from monitor.storage.tables import rounds
from monitor.tracking import mlflow as tracking
from tests.faults import world


def application(name: str | None) -> None:
    """Patch this process, and so all lives that it begins."""
    if name is not None:
        world.TRIES = 5  # what a bug breaks does not mend while a life looks again and again
        BUGS[name]()


def no_search_before_create_and_none_after():
    def create(client, experiment, key, new):
        run = client.create_run(experiment, new.start_ms, {**new.tags, key.tag: key.safe}, new.name)
        made[key] = run
        return run

    def keep(client, experiment, key):
        return made[key]

    made: dict[Any, Any] = {}
    vars(tracking).update(find_or_create=create, settle=keep)


def no_state_and_no_attempt_guard_in_moves():
    def hold(connection, claim):
        round_claims.wait_for_monitor(connection, claim)

    def move(connection, claim, before, after, *, reason, now, **values):
        changed = update(rounds).where(rounds.c.id == claim.round_id)
        connection.execute(changed.values(state=after, **values))
        round_transitions.note_move(connection, claim.round_id, before, after, reason, now)

    round_claims.hold = hold
    round_transitions.move = move


BUGS = {
    bug.__name__: bug
    for bug in (
        no_search_before_create_and_none_after,
        no_state_and_no_attempt_guard_in_moves,
    )
}
