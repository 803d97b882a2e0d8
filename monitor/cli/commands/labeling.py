"""The command that lets a person label in a browser: label."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import CONFIG, ConfigOption, JsonOption, MonitorOption, opened
from monitor.cli.views.printing import echo, echo_error, echo_json

if TYPE_CHECKING:
    from monitor.wiring import Application

PORT = 8089

PortOption = Annotated[
    int,
    typer.Option(
        "--port", help="Where it listens, on 127.0.0.1.", min=1, max=65_535, metavar="PORT"
    ),
]
NoBrowserOption = Annotated[
    bool, typer.Option("--no-browser", help="Print the link and open nothing.")
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("label")(label)


def label(
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    port: PortOption = PORT,
    name: Annotated[
        str | None,
        typer.Option("--as", help="Your name, else that of your account.", metavar="NAME"),
    ] = None,
    no_browser: NoBrowserOption = False,
    json: JsonOption = False,
) -> None:
    """Label in a browser on this machine, until Ctrl-C.

    For monitors with labeling: {kind: page}. The link works once; when somebody has used it, one
    for the next person is printed. run-once or serve hands out the items and takes the answers
    into the estimates, also while this runs. The same pages show how the monitors stand.
    """
    from monitor.config.pages import PagesSettings
    from monitor.service import signals
    from monitor.service.pages.serving import PagesServer, board_of

    with opened(config) as application:
        names = _on_the_page(application, monitor)

        server = PagesServer(
            application.database,
            application.clock,
            lambda: names,
            board_of(lambda: application),
            settings=PagesSettings(listen=f"127.0.0.1:{port}"),
            setting="--port",
            name=name or account(),
            notified=teller(no_browser=no_browser, json=json),
        )
        requests = signals.listen()
        server.start()
        while requests.get() == signals.RELOAD:
            echo_error("the config is read at the start only; end this and begin it again")
        server.stop()
    if not json:
        echo("stopped; every answer is kept")


def teller(*, no_browser: bool, json: bool) -> Callable[[str, str | None], None]:
    """Return a function that prints each link of the page, and opens a browser on the first."""

    def show_link(link: str, entered: str | None) -> None:
        if json:
            echo_json({"link": link, "entered": entered}, indent=None)
        else:
            echo(_show_address(link, entered))
        sys.stdout.flush()
        if entered is None and not no_browser:
            _open(link)

    return show_link


def _show_address(link: str, entered: str | None) -> str:
    if entered is None:
        return f"The labeling page, until Ctrl-C: {link}"
    return f"{entered} is labeling; a link for another person: {link}"


def _on_the_page(application: Application, monitor: str | None) -> list[str]:
    """Name the monitors that people label on the page: today, or in a round opened before."""
    from monitor.domain.errors import InputRefused
    from monitor.labeling.page import PageLabeler
    from monitor.rounds.labels.collect import labelers_in_use

    chosen = application.monitors if monitor is None else (application.context(monitor),)
    names = [
        context.settings.name
        for context in chosen
        if any(isinstance(one, PageLabeler) for one in labelers_in_use(context))
    ]
    if not names:
        monitors = ", ".join(context.settings.name for context in chosen)
        message = (
            f"nobody labels {monitors} on the labeling page; it is for monitors with "
            'labeling: {kind: page, question: "Is it really ...?"}'
        )
        raise InputRefused(message)
    return names


def account() -> str:
    """Name the person by the account."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # an account without a name, as in some containers
        return ""


def _open(link: str) -> None:
    """Open a browser that has a window; one in the terminal would take it from this program."""
    import webbrowser

    has_windows = sys.platform in {"darwin", "win32"} or any(
        name in os.environ for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if has_windows and not webbrowser.open(link):
        echo_error("no browser could be opened; open the link yourself")
