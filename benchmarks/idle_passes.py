"""What a pass that finds nothing due costs: each monitor looked at, or left alone where unchanged.

Statements and processor time of a pass over SQLite, then the processor time of `run-once`.
"""

import logging
import re
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import structlog
from sqlalchemy import delete

from benchmarks.harness import timed
from benchmarks.statements import counted
from benchmarks.status_at_size import fill_store, measured, write_config
from monitor import wiring
from monitor.config.load import load_config
from monitor.rounds.delivery.deliver import deliver
from monitor.service.change_detection import Idle
from monitor.service.loop import advance_all, one_pass, tidy
from monitor.storage.overview.scan_store import SCAN
from monitor.storage.tables import labeler_cursors
from monitor.wiring import Application

TRIES = 5
HEADS = ("monitors", "pass", "statements", "CPU ms", "run-once CPU s")


def main(monitors: tuple[int, ...] = (1, 20, 100), rounds: int = 20) -> None:
    """Print two lines for each number of monitors."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    print(_line(*HEADS))
    for number in monitors:
        with tempfile.TemporaryDirectory() as folder:
            config = write_config(Path(folder), "sqlite:///monitor.db", number)
            _share_labels(config)
            fill_store(config, rounds)
            measure(config, number)


def _share_labels(config: Path) -> None:
    """Let all monitors take labels from one folder.

    Rounds keep the folder that they were opened with, and those of the store are copies of one
    monitor's: with a folder each, all other monitors would look at two places.
    """
    text = re.sub(r"folder: labels/mail-\d+", "folder: labels/mail-0000", config.read_text())
    config.write_text(text)


def measure(config: Path, number: int) -> None:
    """Print what passes over these monitors cost, with and without change detection."""
    application = wiring.build(load_config(config))
    idle = Idle(application.database, application.clock)

    def left_alone() -> None:
        one_pass(application, application.monitors, idle=idle)

    def looked_at() -> None:
        advance_all(application.monitors)
        tidy(application)
        deliver(
            application.database, application.handlers, application.clock, link=application.link
        )

    for _ in range(3):  # the first passes find what filling the store left to do
        left_alone()
    figures = {
        "each looked at": (*_figures(application, looked_at), _run_once(application, config)),
        "left alone": (*_figures(application, left_alone), _run_once(application, config, "noted")),
    }
    for name, (statements, milliseconds, seconds) in figures.items():
        told = (f"{statements}", f"{milliseconds:.1f}", f"{seconds:.2f}")
        print(_line(f"{number}", name, *told))
    application.database.close()


def _figures(application: Application, one: Callable[[], None]) -> tuple[int, float]:
    """Statements of a pass, and its processor time in milliseconds."""
    with counted(application.database) as statements:
        one()
    taken = statistics.median(timed(one)[0] for _ in range(TRIES))
    return len(statements.sent), 1e3 * taken


def _run_once(application: Application, config: Path, noted: str | None = None) -> float:
    """Processor seconds of `run-once`, after another one or as if there had been none."""
    words = ["run-once", "--config", str(config)]
    measured(words)
    taken = []
    for _ in range(3):
        if noted is None:
            with application.database.write() as connection:
                connection.execute(delete(labeler_cursors).where(labeler_cursors.c.labeler == SCAN))
        taken.append(measured(words).cpu)
    return statistics.median(taken)


def _line(*cells: str) -> str:
    return "  ".join(f"{cell:>15}" for cell in cells)
