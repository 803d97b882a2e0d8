"""What to run after a store was restored from a backup: db restored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

from monitor.api import opened
from monitor.cli.common import CONFIG, ConfigOption, JsonOption, minute
from monitor.cli.views.printing import echo, echo_error, echo_json
from monitor.domain.errors import MonitorError, gravest
from monitor.domain.state import RoundState
from monitor.presentation.numbers import plural

if TYPE_CHECKING:
    from monitor.domain.report import AlertRow
    from monitor.rounds.context import MonitorContext
    from monitor.rounds.restore import ForgottenRound
    from monitor.storage.rounds.round_store import Round


@dataclass
class Done:
    """What was done for one monitor, and what was in the way."""

    monitor: str
    forgotten: ForgottenRound | None = None
    rounds: list[Round] = field(default_factory=list)
    problems: list[MonitorError] = field(default_factory=list)


def restored(config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """Do again what is missing from a store restored from a backup.

    Run it once the backup is in its place and up to date (db upgrade), before anything else is
    started. It asks MLflow for the runs of this store's rounds. Lost slots are opened again, not
    skipped, and done again from the labels where they are. New versions start above those that
    MLflow shows, whose runs are deleted there. Alerts that the store no longer knows are reported
    as ended; they fire again if the labels still call for it. Safe to repeat; where nothing was
    lost it changes nothing.
    """
    with opened(config, make_store=False) as application:
        done = [_restored(context) for context in application.monitors]
    if json:
        echo_json({"monitors": [_json(each) for each in done]})
    else:
        for each in done:
            for line in _lines(each):
                echo(f"{each.monitor}: {line}", indent="  ")
    problems = [(each.monitor, problem) for each in done for problem in each.problems]
    for monitor, problem in problems:
        echo_error(f"{monitor}: {problem}")
    if any(each.forgotten is None for each in done):
        echo_error("run this again once that is fixed; it goes on from where it was")
    raise typer.Exit(gravest(problem.exit_code for _, problem in problems))


def _restored(context: MonitorContext) -> Done:
    from monitor.rounds.restore import reconcile, repeat_round

    done = Done(context.settings.name)
    if context.runs is None:
        message = f"{context.settings.name} was built without MLflow"
        raise AssertionError(message)
    # Without MLflow's answer nobody knows what is missing: this monitor waits, others go on.
    try:
        done.forgotten = reconcile(context, context.runs)
    except MonitorError as error:
        done.problems.append(error)
        return done
    for round_, obstacle in repeat_round(context, done.forgotten.behind):
        done.rounds.append(round_)
        if obstacle is not None:
            done.problems.append(obstacle)
    return done


def _lines(done: Done) -> Iterator[str]:
    forgotten = done.forgotten
    if forgotten is None:
        return
    if forgotten.opened:
        first, last = minute(forgotten.opened[0]), minute(forgotten.opened[-1])
        span = f"due {first} UTC" if first == last else f"due {first} to {last} UTC"
        yield f"{plural(len(forgotten.opened), 'round')} opened again, {span}"
    yield from (_round_line(round_, forgotten) for round_ in done.rounds)
    if forgotten.retire:
        yield f"{plural(forgotten.retire, 'run')} of forgotten rounds deleted in MLflow"
    yield from _alert_lines(forgotten.alerts)
    for slot in forgotten.off_schedule:
        yield (
            f"MLflow shows a round due {minute(slot)} UTC; it cannot be done again, since today's "
            "schedule has no such slot. Its run stays as it is"
        )
    for slot in forgotten.abandoned:
        yield (
            f"the round due {minute(slot)} UTC is abandoned here and was done again since. Do so: "
            f"pr-monitor run-once -m {done.monitor} --slot {slot:%Y-%m-%dT%H:%MZ}, then run this "
            "once more"
        )
    if forgotten == _nothing(alerts=()):
        yield "MLflow shows nothing that the store does not know"


def _round_line(round_: Round, forgotten: ForgottenRound) -> str:
    what = f"round {round_.number} (due {minute(round_.slot)} UTC) is {round_.state}"
    if round_.estimated_version:
        what += f", version {round_.estimated_version}"
    if round_.id in forgotten.behind:
        what += f" (MLflow showed version {forgotten.behind[round_.id]})"
    if round_.state is RoundState.LABELING:
        what += f", labels wanted by {minute(round_.people_deadline)} UTC"
    return what if round_.reason is None else f"{what}: {round_.reason}"


def _alert_lines(alerts: tuple[AlertRow, ...] | None) -> Iterator[str]:
    if alerts is None:
        yield (
            "which alerts were open cannot be read from MLflow, since the newest report.json is "
            "missing there: look into MLflow and end in your hooks what is no longer known"
        )
        return
    for alert in alerts:
        yield (
            f"the alert {alert.id[:8]} on {alert.metric} of round {alert.fired_in_round} was open "
            "and is no longer known: people are notified that it ends, and it fires again if the "
            "labels still call for it"
        )


def _nothing(alerts: tuple[AlertRow, ...] | None) -> ForgottenRound:
    from monitor.rounds.restore import ForgottenRound

    return ForgottenRound((), {}, 0, alerts, (), ())


def _json(done: Done) -> dict[str, Any]:
    forgotten = done.forgotten or _nothing(alerts=None)
    return {
        "monitor": done.monitor,
        "problems": [str(problem) for problem in done.problems],
        "rounds": [
            {
                "round": round_.number,
                "slot": round_.slot,
                "state": round_.state,
                "version": round_.estimated_version,
                "reason": round_.reason,
            }
            for round_ in done.rounds
        ],
        "opened": list(forgotten.opened),
        "runs_deleted": forgotten.retire,
        "alerts_forgotten": None
        if forgotten.alerts is None
        else [alert.model_dump() for alert in forgotten.alerts],
        "off_schedule": list(forgotten.off_schedule),
        "abandoned": list(forgotten.abandoned),
    }
