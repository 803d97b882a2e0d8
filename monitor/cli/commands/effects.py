"""Commands for alerts, and for effects that wait or are dead."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
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
    named_person,
    option,
    refuse_text,
)
from monitor.cli.views.checked import Check, echo_check
from monitor.cli.views.printing import echo, echo_answer, echo_json
from monitor.domain.errors import (
    EXIT_CONFIG,
    EXIT_TRY_LATER,
    DeliveryFailed,
    InputRefused,
    gravest,
)
from monitor.domain.model import Effect, EffectKind
from monitor.presentation.numbers import limit_text, plural
from monitor.presentation.table import Table

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.alerting import StoredAlert
    from monitor.domain.ports import EffectHandler
    from monitor.storage.outbox.effect_admin import OpenEffect

IdArgument = Annotated[int | None, argument("ID", "Id of an effect, from the list.")]
_MOST_LISTED = 10  # alerts that a message lists
SinkOption = Annotated[
    str | None, option("NAME", "All effects of this sink: mlflow, log or a hook.", "--sink")
]


def effects(
    context: typer.Context,
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    json: JsonOption = False,
) -> None:
    """List what MLflow and hooks have not accepted, or retry it.

    waiting: it is retried automatically. dead: it failed for a day, or for a reason that you must
    fix; it is still retried, less and less often. An effect behind another one of the same monitor
    and sink waits for it, so that all arrive in order. A dead effect that fails by itself lets the
    others pass; only the same round in MLflow, or the same alert, waits for it.
    """
    if context.invoked_subcommand is not None:
        return
    from monitor.storage.outbox.effect_admin import find_open

    with opened(config, monitor=monitor) as application, application.database.read() as connection:
        effects = find_open(connection, monitor=monitor)
    head = ["id", "monitor", "sink", "kind", "round", "status", "since", "tries", "next", "why"]
    table = Table(head, [_row(effect) for effect in effects], right="047")
    empty = "nothing waits: MLflow and the hooks have accepted everything"
    echo_answer({"effects": effects}, [table] if effects else empty, json=json)


def retry(
    number: IdArgument = None,
    sink: SinkOption = None,
    everything: Annotated[bool, flag("--all", "All effects that are waiting or dead.")] = False,
    config: ConfigOption = CONFIG,
    json: JsonOption = False,
) -> None:
    """Retry effects at the next run, as if for the first time.

    Pass an id, --sink or --all. run-once or the service delivers them.
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
    """Drop effects for good, so that those behind them continue.

    For what nobody needs any more, such as notices of a hook that was removed, or what its
    receiver will never accept. They stay in the store with the reason.
    """
    from monitor.rounds.delivery import notify_recovered
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
        message = f"no open effect has the id {number}; pr-monitor effects lists the open ones"
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


def alerts(
    context: typer.Context,
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    json: JsonOption = False,
) -> None:
    """List alerts, open ones first, or end one by hand."""
    if context.invoked_subcommand is not None:
        return
    from monitor.cli.views.status_page import alert_json
    from monitor.storage.results import alert_store

    with opened(config, monitor=monitor) as application, application.database.read() as connection:
        alerts = alert_store.find_alerts(connection, monitor=monitor)
    alerts.sort(key=lambda alert: alert.state != "firing")
    head = ["id", "monitor", "limit", "state", "history"]
    table = Table(head, [_alert_row(alert) for alert in alerts])
    values = {"alerts": [alert_json(alert) for alert in alerts]}
    echo_answer(values, [table] if alerts else "no alerts", json=json)


def resolve(
    alert: Annotated[
        str, argument("ALERT", "Id of the alert, its beginning, or the round that fired it.")
    ],
    reason: Annotated[str | None, option("TEXT", "End the alert, for this reason.")] = None,
    note: Annotated[str | None, option("TEXT", "Record what was done about the alert.")] = None,
    delete_notes: Annotated[
        bool, flag("--delete-notes", "Delete the notes on the alert, here and in MLflow.")
    ] = False,
    by: Annotated[str | None, option("NAME", "Your name. Default: the user name.")] = None,
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    json: JsonOption = False,
) -> None:
    """End an open alert by hand, or record what was done about one.

    With --reason the alert ends. Evidence restarts with the next round, and the next run notifies
    hooks. With --note it stays as it is, open or ended. Everyone who sees its rounds sees the note
    and your name, so put no secrets and no other people in it. The same note is stored once.
    """
    from monitor.domain.masking import masked
    from monitor.domain.visible import clean
    from monitor.storage.results.alert_note_store import read_notes

    if reason is None and note is None and not delete_notes:
        message = "nothing to do: --reason TEXT ends the alert, --note TEXT records what was done"
        raise typer.BadParameter(message, param_hint="ALERT")
    if note is not None:
        note = clean(masked(note))
        refuse_text(note, "--note", "all who see the rounds")
    with opened(config, monitor=monitor) as application, application.database.write() as connection:
        chosen = _chosen_alert(connection, alert, monitor, must_be_open=reason is not None)
        now = application.clock()
        done = [
            *([] if reason is None else [_ended(connection, chosen, reason, now)]),
            *([_without_notes(connection, chosen, now)] if delete_notes else []),
            *([] if note is None else [_noted(connection, chosen, note, named_person(by), now)]),
        ]
        notes = read_notes(connection, [chosen.id]).get(chosen.id, ())
    sentence = f"{', '.join(done)} {chosen.id[:8]}: {chosen.monitor}, {_limit(chosen)}"
    ended = chosen.id if reason is not None else None
    result = {"alert": chosen.id, "resolved": ended, "notes": notes}
    echo_answer(result, sentence, json=json)


def _chosen_alert(
    connection: Connection, text: str, monitor: str | None, *, must_be_open: bool
) -> StoredAlert:
    from monitor.domain.alerting import AlertState
    from monitor.storage.results import alert_store

    state = AlertState.FIRING if must_be_open else None
    alerts = alert_store.find_alerts(connection, monitor=monitor, state=state)
    chosen = [
        each
        for each in alerts
        if (text and each.id.startswith(text)) or str(each.fired_in_round) == text
    ]
    if len(chosen) == 1:
        return chosen[0]
    which = "open alert" if must_be_open else "alert"
    matches = f"several {which}s match" if chosen else f"no {which} matches"
    listed = ", ".join(
        f"{each.id[:8]} ({each.monitor}, {_limit(each)}, round {each.fired_in_round})"
        for each in (chosen or alerts)[-_MOST_LISTED:]
    )
    message = f"{matches} {text!r}, as an id or as a round; {which}s: {listed or 'none'}"
    raise InputRefused(message)


def _ended(connection: Connection, alert: StoredAlert, reason: str, now: datetime) -> str:
    from monitor.domain.alerting import AlertState
    from monitor.rounds.reporting.enqueue import enqueue_ended
    from monitor.storage.results import alert_store

    alert_store.end(connection, alert.id, AlertState.RESOLVED, why=reason, now=now)
    enqueue_ended(connection, alert, reason, now)
    return "resolved"


def _noted(connection: Connection, alert: StoredAlert, text: str, by: str, now: datetime) -> str:
    from monitor.domain.alerting import AlertNote
    from monitor.rounds.reporting.alert_notes import note_alert

    is_new = note_alert(connection, alert, AlertNote(now, by, text))
    return "noted on" if is_new else "the note is already on"


def _without_notes(connection: Connection, alert: StoredAlert, now: datetime) -> str:
    from monitor.rounds.reporting.alert_notes import delete_notes

    return f"{plural(delete_notes(connection, alert, now), 'note')} deleted from"


def hook_test(
    config: ConfigOption = CONFIG,
    hook: Annotated[str | None, option("NAME", "Only this hook.")] = None,
    json: JsonOption = False,
) -> None:
    """Send a test notice through each hook.

    Reports for each whether it was accepted. No round, alert or store is needed.
    """
    from monitor.config.load import load_config
    from monitor.wiring import build

    loaded = load_config(config)
    hooks = loaded.hooks
    if hook is not None and hook not in hooks:
        message = f"there is no hook {hook!r} in {config}; it has {', '.join(hooks) or 'none'}"
        raise InputRefused(message)
    application = build(loaded)
    tests = [
        _tested(name, each.kind, application.handlers[name], application.clock())
        for name, each in hooks.items()
        if hook in {None, name}
    ]
    if json:
        echo_json({"hooks": tests})
    elif not tests:
        echo("the config has no hooks; alerts go to the log and to MLflow only")
    else:
        for test in tests:
            echo_check(test)
    raise typer.Exit(gravest(test.code for test in tests))


def _limit(alert: StoredAlert) -> str:
    return limit_text(alert.metric, alert.side, alert.limit)


def _alert_row(alert: StoredAlert) -> list[str]:
    from monitor.presentation.alerts import fired, note_text

    end = f", until {minute(alert.ended_at)} UTC: {alert.ended_why}" if alert.ended_at else ""
    history = "; ".join([f"{fired(alert)}{end}", *map(note_text, alert.notes)])
    return [alert.id[:8], alert.monitor, _limit(alert), str(alert.state), history]


TEST = "test"


def _tested(name: str, kind: str, handler: EffectHandler, now: datetime) -> Check:
    from monitor.domain.notice import Notice

    notice = Notice(
        id=f"msg_{uuid.uuid4().hex}",
        event=TEST,
        store_id=TEST,
        round_key=TEST,
        monitor=TEST,
        round=0,
        slot=now,
        at=now,
        sink=name,
        sentence=(
            f"This is a test of hook {name}, sent by pr-monitor alerts test. No metric passed a "
            "limit, and nobody has to do anything."
        ),
    )
    effect = Effect(
        id=0,
        key=notice.id,
        kind=EffectKind.NOTICE,
        sink=name,
        monitor=notice.monitor,
        payload=notice.model_dump(mode="json"),
        attempt=1,
    )
    what = f"hook {name} ({kind})"
    try:
        return Check(what, f"accepted the test ({handler.deliver(effect)})")
    except DeliveryFailed as error:
        code = EXIT_CONFIG if error.lasting else EXIT_TRY_LATER
        return Check(what, problem=str(error), code=code)
