"""Commands around the work: demo, init, check, db."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    open_plant,
    say,
    say_json,
    set_up_logs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from monitor.config import Config
    from monitor.wiring import Plant


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command("demo")(demo)
    app.command("init")(init)
    app.command("check")(check)
    db = typer.Typer(help="Create, upgrade or check the tables of the store.")
    db.command("upgrade")(upgrade)
    db.command("check")(check_schema)
    app.add_typer(db, name="db")


def demo(
    folder: Annotated[Path, typer.Argument(help="Where the demo may write.")] = Path("demo"),
    json: JsonOption = False,
) -> None:
    """Watch a real classifier for half a year of made-up traffic; its camera gets noisy."""
    from monitor.demo.play import play

    set_up_logs()
    result = play(folder, quiet=json)
    if json:
        say_json(result.as_json())


def init(
    predictions: Annotated[
        str, typer.Argument(help="Parquet or CSV file of predictions, or a glob.")
    ],
    config: ConfigOption = CONFIG,
    id_: Annotated[str | None, typer.Option("--id", help="Column of the item id.")] = None,
    time: Annotated[str | None, typer.Option("--time", help="Column of the time.")] = None,
    score: Annotated[str | None, typer.Option("--score", help="Column of the score.")] = None,
    predicted: Annotated[
        str | None, typer.Option("--predicted", help="Column of the predicted class.")
    ] = None,
    positive: Annotated[
        str | None, typer.Option("--positive", help="Predicted value that means flagged.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Score from which on items are flagged.")
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", help="Column of the true class, if it is there.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write a commented config for a file of predictions, from its columns."""
    from monitor.datafiles import describe
    from monitor.domain.errors import InputRefused
    from monitor.template import Chosen, write_config

    if config.exists():
        message = f"{config} is there already; move it away or name another with --config"
        raise InputRefused(message)
    columns = [(each.name, each.type) for each in describe(predictions, config.parent)]
    chosen = Chosen(id_, time, score, predicted, positive, threshold, label)
    config.write_text(write_config(predictions, columns, chosen), encoding="utf-8")
    if json:
        say_json({"config": str(config)})
    else:
        say(f"wrote {config}; read it, then run: pr-monitor check")


def check(config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """Try everything the config names: source, labels, store, MLflow and its permissions.

    Each is reachable, or a sentence says why not and what to do.
    """
    from monitor.config import load_config
    from monitor.wiring import build

    set_up_logs()
    loaded = load_config(config)
    found = list(_checked(build(loaded), loaded))
    worst = max((code for _, _, code in found), default=0)
    if json:
        say_json({"checks": [{"what": w, "problem": p} for w, p, _ in found], "ok": worst == 0})
    else:
        say(f"ok       config {config}")
        for what, problem, _ in found:
            say(f"ok       {what}" if problem is None else f"PROBLEM  {what}: {problem}")
    raise typer.Exit(worst)


def upgrade(config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """Create the tables of the store, or bring them up to this version."""
    from monitor.config import load_config
    from monitor.storage import schema
    from monitor.storage.database import Database

    database = Database(load_config(config).store_url)
    before = schema.found_revision(database)
    schema.upgrade(database)
    after = schema.found_revision(database)
    if json:
        say_json({"before": before, "after": after})
    elif before == after:
        say(f"{database.shown} is up to date ({after})")
    else:
        say(f"{database.shown}: schema {before or 'none'} -> {after}")


def check_schema(config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """Say whether the store holds exactly this version's tables; exit code 78 if not."""
    plant = open_plant(config, make_store=False)
    if json:
        say_json({"ok": True})
    else:
        say(f"{plant.database.shown} holds this version's tables")


def _checked(plant: Plant, config: Config) -> Iterator[tuple[str, str | None, int]]:
    from monitor.storage import schema
    from monitor.wiring import check_labels, check_source, mlflow_handler

    yield _try(f"store {plant.database.shown}", lambda: schema.ready(plant.database))
    for parts in plant.monitors:
        name = parts.settings.name
        yield _try(f"source of {name}", partial(check_source, parts))
        yield _try(f"labels of {name}", partial(check_labels, parts))
    names = [parts.settings.name for parts in plant.monitors]
    handler = mlflow_handler(config)
    problems = handler.check(names)
    yield f"MLflow {handler.shown}", problems[0] if problems else None, 75 if problems else 0


def _try(what: str, act: Callable[[], object]) -> tuple[str, str | None, int]:
    from monitor.domain.errors import MonitorError

    try:
        act()
    except MonitorError as error:
        return what, str(error), error.exit_code
    return what, None, 0
