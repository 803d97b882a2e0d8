"""Commands about effects that are not delivered yet: those that wait, and dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.api import opened
from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorOption,
    argument,
    flag,
    minute,
    option,
)
from monitor.cli.views.printing import echo, echo_answer, echo_json, echo_table
from monitor.domain.errors import InputRefused
from monitor.presentation.numbers import plural

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.storage.outbox.effect_admin import OpenEffect

IdArgument = Annotated[int | None, argument("ID", "Id of an effect, as the list has it.")]
SinkOption = Annotated[
    str | None, option("NAME", "All that waits for this: mlflow, log or a hook.", "--sink")
]


def effects(
    context: typer.Context,
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    json: JsonOption = False,
) -> None:
    """List what MLflow and hooks have not accepted, or try it again.

    waiting: it is tried again by itself. dead: it failed for a day, or for a reason that somebody
    must fix; it is still tried, more and more rarely. An effect queued behind another of the same
    monitor and sink waits for that one, so that all arrive in order. A dead one whose fault is its
    own steps aside; only the same round in MLflow, or the same alert, waits for it.
    """
    if context.invoked_subcommand is not None:
        return
    from monitor.storage.outbox.effect_admin import find_open

    with opened(config) as application:
        if monitor is not None:
            application.config.monitor(monitor)
        with application.database.read() as connection:
            effects = find_open(connection, monitor=monitor)
    if json:
        echo_json({"effects": [asdict(effect) for effect in effects]})
    elif effects:
        head = ["id", "monitor", "sink", "kind", "round", "status", "since", "tries", "next", "why"]
        echo_table(head, [_row(effect) for effect in effects], right="047")
    else:
        echo("nothing waits: MLflow and the hooks have accepted everything")


def retry(
    number: IdArgument = None,
    sink: SinkOption = None,
    everything: Annotated[bool, flag("--all", "All that waits or is dead.")] = False,
    config: ConfigOption = CONFIG,
    json: JsonOption = False,
) -> None:
    """Have effects tried at the next run, as if for the first time.

    Name an id, --sink or --all. run-once or the service delivers them.
    """
    from monitor.storage.outbox.effect_admin import revive

    _refuse_unclear([number is not None, sink is not None, everything], "an id, --sink or --all")
    with opened(config) as application, application.database.write() as connection:
        chosen = [effect.id for effect in _chosen(connection, number, sink)]
        revive(connection, chosen, application.clock())
    sentence = f"{plural(len(chosen), 'effect')} will be tried at the next run"
    echo_answer({"revived": chosen}, sentence, json=json)


def drop(
    reason: Annotated[str, option("TEXT", "Why they are given up.")],
    number: IdArgument = None,
    sink: SinkOption = None,
    config: ConfigOption = CONFIG,
    json: JsonOption = False,
) -> None:
    """Give effects up for good, so that those queued behind them go on.

    For what nobody needs any more, such as notices of a hook that was removed, or what its
    receiver will never accept. They stay in the store with the reason.
    """
    from monitor.rounds.delivery.dead_letters import notify_recovered
    from monitor.storage.outbox import effect_admin

    _refuse_unclear([number is not None, sink is not None], "an id or --sink")
    with opened(config) as application, application.database.write() as connection:
        effects = _chosen(connection, number, sink)
        chosen = [effect.id for effect in effects]
        effect_admin.drop(connection, chosen, reason, application.clock())
        # In the same transaction: who was notified of a dead sink is notified that it is empty too.
        for each in sorted({effect.sink for effect in effects}):
            notify_recovered(connection, each, application.clock())
    sentence = f"{plural(len(chosen), 'effect')} given up: {reason}"
    echo_answer({"dropped": chosen}, sentence, json=json)


def _refuse_unclear(options: Sequence[bool], ways: str) -> None:
    if list(options).count(True) != 1:
        message = f"name either {ways}; pr-monitor effects lists what there is"
        raise typer.BadParameter(message, param_hint="ID")


def _chosen(connection: Connection, number: int | None, sink: str | None) -> list[OpenEffect]:
    from monitor.storage.outbox.effect_admin import find_open

    effects = find_open(connection, sink=sink, number=number)
    if number is not None and not effects:
        message = f"no open effect has the id {number}; pr-monitor effects lists those there are"
        raise InputRefused(message)
    if sink is not None and not effects:
        waiting = ", ".join(sorted({effect.sink for effect in find_open(connection)})) or "none"
        message = f"nothing waits for {sink!r}; sinks for which something waits: {waiting}"
        raise InputRefused(message)
    return effects


def _row(effect: OpenEffect) -> list[str]:
    return [
        str(effect.id),
        effect.monitor,
        effect.sink,
        effect.kind,
        str(effect.round),
        effect.status,
        minute(effect.since),
        str(effect.tries),
        minute(effect.next_try) if effect.first else "-",
        effect.last_error or ("not tried yet" if effect.first else "queued behind another"),
    ]
