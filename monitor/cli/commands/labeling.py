"""Labeling in a browser: the command label, and the demo of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from queue import Empty
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.api import opened
from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorOption,
    account,
    chosen_monitors,
    flag,
    option,
)
from monitor.cli.views.printing import echo, echo_error, echo_json
from monitor.domain.errors import InputRefused

if TYPE_CHECKING:
    from monitor.demo.labeling_week import Answered, LabelingWeek
    from monitor.service.pages.serving import PagesServer
    from monitor.wiring import Application

PORT = 8089
_POLL_SECONDS = 0.5

PortOption = Annotated[
    int, option("PORT", "Where it listens, on 127.0.0.1.", "--port", min=1, max=65_535)
]
NoBrowserOption = Annotated[bool, flag("--no-browser", "Print the link without opening a browser.")]


def label(
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    port: PortOption = PORT,
    name: Annotated[str | None, option("NAME", "Your name. Default: your account.", "--as")] = None,
    no_browser: NoBrowserOption = False,
    json: JsonOption = False,
) -> None:
    """Label in a browser on this machine, until Ctrl-C.

    For monitors with labeling: {kind: page}. The link works once; after each use a new one is
    printed. run-once or serve adds the items and reads the answers, also while this runs. The same
    pages show the state of the monitors.
    """
    from monitor.service import signals

    with opened(config) as application:
        names = _on_the_page(application, monitor)
        server = _server(application, names, port, name=name, no_browser=no_browser, json=json)
        requests = signals.listen()
        server.start()
        while requests.get() == signals.RELOAD:
            echo_error("the config is read at the start only; end this and begin it again")
        server.stop()
    if not json:
        echo("stopped; every answer is kept")


def label_demo(folder: Path, *, port: int, no_browser: bool, json: bool) -> None:
    """Play the demo until its last week, let a person label that, and show the result."""
    from rich.console import Console

    from monitor.demo.labeling_week import LabelingWeek

    week = LabelingWeek(folder, Console(highlight=False, quiet=json))
    try:
        answered = _labeled(week, port=port, no_browser=no_browser, json=json)
        if answered is None:
            echo_error("stopped before all was answered; pr-monitor demo --label starts over")
            raise typer.Exit(1)
        week.show(answered)
        if json:
            echo_json(answered)
        week.show_way_on()
    finally:
        week.application.database.close()


def _labeled(week: LabelingWeek, *, port: int, no_browser: bool, json: bool) -> Answered | None:
    """Serve the page until all is answered; None if somebody stopped it."""
    from monitor.service import signals

    application = week.application
    server = _server(application, application.names, port, no_browser=no_browser, json=json)
    requests = signals.listen()
    server.start()
    try:
        while (answered := week.answered()) is None:
            try:
                if requests.get(timeout=_POLL_SECONDS) != signals.RELOAD:
                    return None
            except Empty:
                continue
    finally:
        server.stop()
    return answered


def _server(
    application: Application,
    names: Sequence[str],
    port: int,
    *,
    name: str | None = None,
    no_browser: bool,
    json: bool,
) -> PagesServer:
    """Make the pages of some monitors, which print each link and open a browser on the first."""
    from monitor.config.pages import PagesSettings
    from monitor.service.pages.serving import PagesServer, board_of

    def show_link(link: str, entered: str | None) -> None:
        sentence = f"The labeling page, until Ctrl-C: {link}"
        if entered is not None:
            sentence = f"{entered} is labeling; a link for another person: {link}"
        if json:
            echo_json({"link": link, "entered": entered}, indent=None)
        else:
            echo(sentence)
        sys.stdout.flush()
        if entered is None and not no_browser:
            _open(link)

    return PagesServer(
        lambda: names,
        board_of(lambda: application),
        settings=PagesSettings(listen=f"127.0.0.1:{port}"),
        setting="--port",
        name=name or account(),
        notified=show_link,
    )


def _on_the_page(application: Application, monitor: str | None) -> list[str]:
    from monitor.labeling.page import PageLabeler
    from monitor.rounds.labels.collect import labelers_in_use

    chosen = chosen_monitors(application, monitor)
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


def _open(link: str) -> None:
    """Open a browser that has a window; one in the terminal would take it from this program."""
    import webbrowser

    has_windows = sys.platform in {"darwin", "win32"} or any(
        name in os.environ for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if has_windows and not webbrowser.open(link):
        echo_error("no browser could be opened; open the link yourself")
