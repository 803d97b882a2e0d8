"""The command that writes a round as a file to read, print or send."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Annotated

import typer

from monitor.cli.commands.results import only_monitor
from monitor.cli.common import CONFIG, ConfigOption, JsonOption, MonitorOption, OfARound, opened
from monitor.cli.views.printing import echo, echo_json


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("report", cls=OfARound)(report)


def report(
    number: Annotated[
        int | None,
        typer.Argument(help="Number of the round; the newest otherwise.", metavar="ROUND"),
    ] = None,
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    version: Annotated[
        int | None,
        typer.Option("--version", help="An earlier version of it.", min=1, metavar="NUMBER"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Where to; otherwise MONITOR-round-NUMBER.html in this folder.",
            dir_okay=False,
            metavar="FILE",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write a round as one HTML file, to read or send.

    It begins with a verdict and what to do; figures, tables and the method follow. It needs no
    network and runs no script. MLflow has the same file with each round, as report.html.
    """
    from monitor.files.atomic_write import write_whole
    from monitor.report.html import report_html
    from monitor.rounds.round_page import read_report

    with opened(config) as application:
        name = only_monitor(application, monitor)
        with application.database.read() as connection:
            result = read_report(connection, name, number, version)
    path = out or Path(f"{name}-round-{result.round}.html")

    def write(stream: IO[str]) -> None:
        stream.write(report_html(result).decode())

    write_whole(path, write)
    if json:
        written = {"round": result.round, "version": result.version, "file": str(path)}
        echo_json({"monitor": name, **written})
        return
    echo(f"{path}: {name}, round {result.round}, version {result.version}")
