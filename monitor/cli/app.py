"""The `pr-monitor` command and how its errors end."""

from __future__ import annotations

import sys

import typer

from monitor.cli import labels, results, runs, setup
from monitor.domain.errors import MonitorError

app = typer.Typer(
    name="pr-monitor",
    help="Precision and recall of a classifier in production, from few human labels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
setup.add_to(app)
runs.add_to(app)
results.add_to(app)
labels.add_to(app)


def main() -> None:
    """Run the command line; an error a user can cause is one sentence and an exit code."""
    try:
        app()
    except MonitorError as error:
        print(f"pr-monitor: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone
        sys.exit(0)
