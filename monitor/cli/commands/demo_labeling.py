"""The demo of labeling, on the labeling page."""

from __future__ import annotations

from pathlib import Path
from queue import Empty
from typing import TYPE_CHECKING

import typer

from monitor.cli.commands.labeling import account, teller
from monitor.cli.views.printing import echo, echo_json

if TYPE_CHECKING:
    from monitor.demo.labeling_week import Answered, LabelingWeek

_POLL_SECONDS = 0.5  # seconds


def label_demo(folder: Path, *, port: int, no_browser: bool, json: bool) -> None:
    """Play the demo until its last week, let a person label that, and show what it came to."""
    from rich.console import Console

    from monitor.demo.labeling_week import LabelingWeek

    week = LabelingWeek(folder, Console(highlight=False, quiet=json))
    try:
        answered = _labeled(week, port=port, no_browser=no_browser, json=json)
        if answered is None:
            echo("stopped before all was answered; pr-monitor demo --label starts over")
            raise typer.Exit(1)
        week.show(answered)
        if json:
            echo_json(answered.as_json())
        week.show_way_on()
    finally:
        week.application.database.close()


def _labeled(week: LabelingWeek, *, port: int, no_browser: bool, json: bool) -> Answered | None:
    """Serve the page until all is answered; None if somebody stopped it."""
    from monitor.config.pages import PagesSettings
    from monitor.demo.folder import MONITOR
    from monitor.service import signals
    from monitor.service.pages.serving import PagesServer, board_of

    application = week.application
    server = PagesServer(
        application.database,
        application.clock,
        lambda: [MONITOR],
        board_of(lambda: application),
        settings=PagesSettings(listen=f"127.0.0.1:{port}"),
        setting="--port",
        name=account(),
        notified=teller(no_browser=no_browser, json=json),
    )
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
