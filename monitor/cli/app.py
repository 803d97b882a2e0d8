"""The `pr-monitor` command and how its errors end."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from monitor.cli.commands import (
    effects,
    forecasts,
    gate,
    keeping,
    labeling,
    labels,
    results,
    runs,
    setup,
    users,
)
from monitor.cli.common import Command, OfARound
from monitor.cli.views.printing import echo_error
from monitor.domain.errors import EXIT_CONFIG, EXIT_TRY_LATER, MonitorError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class Commands(TyperGroup):
    """The commands in the order in which people meet them."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the commands in the order of `SECTIONS`."""
        return [name for names in SECTIONS.values() for name in names]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the help of each section."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        longest = max(map(len, commands))
        limit = formatter.width - 6 - longest
        for title, names in SECTIONS.items():
            listed = [(name, commands[name]) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name.ljust(longest), command.get_short_help_str(limit))
                        for name, command in listed
                        if command
                    ]
                )


app = typer.Typer(
    name="pr-monitor",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _echo_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        print(f"pr-monitor {version('mlflow-pr-monitor')}")  # noqa: T201
        raise typer.Exit


@app.callback()
def pr_monitor(
    version: Annotated[  # noqa: ARG001  its callback ends the program
        bool,
        typer.Option("--version", help="Print the version.", callback=_echo_version, is_eager=True),
    ] = False,
) -> None:
    """Precision and recall of a classifier in production, from few human labels.

    Exit codes: 0 all well (a firing alert too), 2 wrong usage, 65 input refused, 75 something
    outside is down and running again is safe, 78 fix the config.
    """
    from monitor.cli.logs import set_up_logs

    set_up_logs()


def _group(
    alone: str | Callable[..., None], commands: dict[str, Callable[..., None]]
) -> typer.Typer:
    """Group commands under a word; ``alone`` is its help text, or what it does by itself."""
    if isinstance(alone, str):
        group = typer.Typer(help=alone, no_args_is_help=True)
    else:
        group = typer.Typer()
        group.callback(invoke_without_command=True)(alone)
    for word, command in commands.items():
        group.command(word, cls=Command)(command)
    return group


SECTIONS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {
    "Get started": {
        "demo": setup.demo,
        "init": setup.init,
        "plan": forecasts.plan,
        "check": setup.check,
    },
    "Run what is due": {
        "run-once": runs.run_once,
        "backfill": runs.backfill,
        "serve": runs.serve,
        "label": labeling.label,
    },
    "Results and labels": {
        "status": results.status,
        "rounds": results.rounds,
        "show": results.show,
        "report": results.report,
        "compare": results.compare,
        "threshold": forecasts.threshold,
        "labels": _group(
            "Export items to label as a file, and import the answers.",
            {"export": labels.export, "import": labels.import_},
        ),
        "alerts": _group(effects.alerts, {"resolve": effects.resolve, "test": effects.hook_test}),
        "restate": labels.restate,
        "effects": _group(effects.effects, {"retry": effects.retry, "drop": effects.drop}),
    },
    "Other": {
        "simulate": forecasts.simulate,
        "estimate": results.estimate,
        "gate": gate.gate,
        "users": _group(
            "Manage the people who sign in to the pages with a token.",
            {
                "add": users.add,
                "list": users.list_users,
                "role": users.give_role,
                "remove": users.remove,
                "sign-out": users.sign_out,
            },
        ),
        "backup": keeping.backup,
        "forget": keeping.forget,
        "db": _group(
            "Create, upgrade or check the tables of the store.",
            {"upgrade": setup.upgrade, "check": setup.check_schema, "restored": keeping.restored},
        ),
    },
}
_OF_A_ROUND = {results.show, results.report, results.compare, labels.restate}

for _name, _command in [pair for named in SECTIONS.values() for pair in named.items()]:
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_name)
    else:
        app.command(_name, cls=OfARound if _command in _OF_A_ROUND else Command)(_command)


def main() -> None:
    """Run the command line; an error a user can cause is one sentence and an exit code."""
    try:
        try:
            app(prog_name="pr-monitor")
        finally:
            if sys.stdout is not None:  # None if the parent process closed it
                # Here, since at exit Python reports a failed write with a traceback.
                sys.stdout.flush()
    except MonitorError as error:
        _end(str(error), error.exit_code)
    except BrokenPipeError:  # the reader of our output has gone
        _drop_output()
        sys.exit(0)
    except OSError as error:
        if error.filename is None and error.errno not in _FULL:
            raise  # neither a place that was named nor a full disk: a fault of this program
        _drop_output()
        where = error.filename or "standard output"
        reason = (error.strerror or str(error)).lower()
        _end(f"{where}: {reason}", EXIT_TRY_LATER if error.errno in _FULL else EXIT_CONFIG)


def _drop_output() -> None:
    """Keep Python from writing what remains of the output when it ends, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(sentence: str, code: int) -> None:
    echo_error(f"pr-monitor: {sentence}")
    sys.exit(code)
