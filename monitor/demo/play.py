"""Play the demo: data, half a year of rounds, MLflow, and what it came to.

``play(folder, quiet=False)`` shows it on standard output and returns a `DemoResult`. In the demo of
labeling (`monitor.demo.labeling_week`) a person answers for the last week.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from monitor.demo.digits import DigitScenario
from monitor.demo.folder import CONFIG, MONITOR, WrittenFolder, fill, prepare
from monitor.demo.table import DemoResult, show_end, show_round, show_start, show_way_on
from monitor.demo.watch import DemoRound
from monitor.domain.model import Effect, EffectKind

if TYPE_CHECKING:
    from monitor.wiring import Application

FOLDER = Path("demo")
_PER_ROUND = 2  # effects for MLflow: the round's run, and its point in the monitor's run


def play(
    folder: Path = FOLDER,
    *,
    quiet: bool = False,
    console: Console | None = None,
    scenario: DigitScenario | None = None,
) -> DemoResult:
    """Play the demo in its own folder.

    folder: Not there yet, empty, or with an earlier demo, which is started over.
    scenario: Another half year than the usual one.

    Raises `InputRefused` if the folder holds anything that no demo made.
    """
    from monitor.demo.watch import watch  # noqa: PLC0415  with what it brings: a second

    console = console or Console(highlight=False, quiet=quiet)
    scenario = scenario or DigitScenario()
    story = (
        f"A small neural network learns “is it an 8?” from scikit-learn's digits and scores "
        f"{scenario.rounds} weeks of images."
    )
    written, application = begin(folder, scenario, console, story)
    rounds: list[DemoRound] = []
    try:
        show_start(console, scenario, written)
        with console.status("round 1") as status:
            for round_ in watch(application, written):
                show_round(console, round_)
                rounds.append(round_)
                status.update(f"round {round_.number + 1} of {len(written.rounds)}")
        failed = send(console, application, len(rounds))
        page = runs_page(application)
    finally:
        application.database.close()
    result = DemoResult(
        folder=folder,
        rounds=tuple(rounds),
        drop_round=scenario.drop_round,
        limits=written.limits,
        command=ui_command(folder),
        page=page,
        failed=failed,
    )
    show_end(console, result)
    show_way_on(console, result)
    return result


def ui_command(folder: Path) -> str:
    """Return the command that opens MLflow on the demo, as this shell can run it."""
    address = f"sqlite:///{(folder / 'mlflow.db').resolve()}"
    return shlex.join([_mlflow(), "ui", "--backend-store-uri", address, "--port", "5000"])


def runs_page(application: Application) -> str:
    """Return the address at which `ui_command` shows the runs of the demo."""
    from monitor.storage.outbox.effect_admin import last_done  # noqa: PLC0415
    from monitor.tracking.links import runs_link  # noqa: PLC0415

    with application.database.read() as connection:
        last = last_done(connection, MONITOR, EffectKind.ROUND_RUN)
    return runs_link("http://127.0.0.1:5000", last and last[1])


def _mlflow() -> str:
    # Another mlflow may come first on the path, and its version may not read this store.
    adjacent = Path(sys.executable).parent / "mlflow"
    executable = shutil.which("mlflow")
    if not adjacent.exists() or (executable is not None and Path(executable).samefile(adjacent)):
        return "mlflow"
    folder = Path.cwd()
    return str(adjacent.relative_to(folder) if adjacent.is_relative_to(folder) else adjacent)


def begin(
    folder: Path, scenario: DigitScenario, console: Console, story: str, *, pictures: bool = False
) -> tuple[WrittenFolder, Application]:
    """Make the folder of a demo and all files in it, and build what its config asks for."""
    from monitor.config.load import load_config  # noqa: PLC0415
    from monitor.demo.watch import make_store  # noqa: PLC0415
    from monitor.wiring import build  # noqa: PLC0415

    if prepare(folder):
        console.print(f"Starting over the demo in {folder}.", soft_wrap=True)
    console.print(story, soft_wrap=True)
    with console.status("training") as status:
        written = fill(
            folder, scenario, lambda week: status.update(f"scoring week {week}"), pictures=pictures
        )
    application = build(load_config(folder / CONFIG))
    make_store(application, scenario.seed)
    return written, application


def send(console: Console, application: Application, rounds: int) -> dict[str, str]:
    """Deliver everything to MLflow; returns why not all of it was accepted, by sink."""
    from monitor.rounds.delivery import deliver  # noqa: PLC0415

    done = count(1)
    with console.status("MLflow makes its tables") as status:

        def on_delivered(_: Effect) -> None:
            status.update(f"to MLflow: {next(done)} of {rounds * _PER_ROUND}")

        return deliver(
            application.database,
            application.handlers,
            application.clock,
            link=application.link,
            on_delivered=on_delivered,
        ).failed
