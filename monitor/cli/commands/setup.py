"""Commands to set up with: demo, init, check, db."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.api import opened
from monitor.cli.commands.labeling import PORT, NoBrowserOption, PortOption, label_demo
from monitor.cli.common import CONFIG, ConfigOption, JsonOption, argument, flag, option, writing
from monitor.cli.views.printing import echo_answer, echo_json, painted
from monitor.domain.errors import InputRefused, MonitorError, gravest

if TYPE_CHECKING:
    from monitor.config.column_guess import Described
    from monitor.config.template import FirstConfig


def demo(
    folder: Annotated[Path, argument("FOLDER", "Folder for the demo's files.")] = Path("demo"),
    label: Annotated[
        bool, flag("--label", "Label 30 pictures in the browser, and see the effect.")
    ] = False,
    port: PortOption = PORT,
    no_browser: NoBrowserOption = False,
    json: JsonOption = False,
) -> None:
    """Watch a real classifier for half a simulated year.

    The camera gets noisy: see which round fires the alert, and open the rounds in MLflow. With
    --label you label pictures of the ninth week yourself, one key each, about a minute in all, and
    see the estimates before and after.
    """
    from monitor.demo.play import play

    if label:
        label_demo(folder, port=port, no_browser=no_browser, json=json)
        return
    result = play(folder, quiet=json)
    if json:
        echo_json(result)


def init(
    predictions: Annotated[
        str | None,
        argument(
            "PREDICTIONS",
            "Parquet, CSV or DuckDB file of predictions, a pattern such as 'p/*.csv', or the "
            "address of a database.",
        ),
    ] = None,
    config: ConfigOption = CONFIG,
    id_: Annotated[str | None, option("COLUMN", "Column of the item id.", "--id")] = None,
    time: Annotated[str | None, option("COLUMN", "Column of the time.")] = None,
    score: Annotated[str | None, option("COLUMN", "Column of the score.")] = None,
    predicted: Annotated[str | None, option("COLUMN", "Column of the predicted class.")] = None,
    positive: Annotated[str | None, option("VALUE", "Predicted value that means flagged.")] = None,
    threshold: Annotated[
        float | None, option("SCORE", "Items with this score or more are flagged.")
    ] = None,
    label: Annotated[
        str | None, option("COLUMN", "Column of the true class, if there is one.")
    ] = None,
    classes: Annotated[
        str | None, option("COLUMN", "Column of several classes; each becomes a monitor.")
    ] = None,
    table: Annotated[str | None, option("NAME", "Table or view of a database.")] = None,
    experiment: Annotated[
        str | None, option("NAME", "MLflow experiment whose traces are the predictions.")
    ] = None,
    span: Annotated[str | None, option("NAME", "Span that holds the decision of a trace.")] = None,
    tracking_uri: Annotated[
        str, option("URI", "MLflow of the experiment.", envvar="MLFLOW_TRACKING_URI")
    ] = "sqlite:///mlflow.db",
    json: JsonOption = False,
) -> None:
    """Show what predictions say, and write a commented config.

    Prints the numbers of items and what the scores look like; precision and recall if a column has
    labels; and how many labels a round needs. Recognizes columns by their names and types, then by
    their values. If these do not decide, it stops and prints a command with the missing options.
    With --experiment it looks for the decision in the newest thousand traces, by paths such as
    outputs.flagged.
    """
    from monitor.config.column_guess import Chosen
    from monitor.config.template import first_config

    if config.exists():
        message = f"{config} is there already; move it away or name another with --config"
        raise InputRefused(message)
    if not config.parent.is_dir():
        message = f"--config {config}: there is no folder {config.parent}; create it first"
        raise InputRefused(message)
    if predictions is None:
        if experiment is None:
            message = "name PREDICTIONS, or an experiment of MLflow by --experiment"
            raise typer.BadParameter(message)
        unused = {"--id": id_, "--time": time, "--label": label, "--classes": classes}
        named = [name for name, value in {**unused, "--table": table}.items() if value is not None]
        if named:
            message = f"{', '.join(named)} is for tables; traces have paths (--predicted, --score)"
            raise typer.BadParameter(message)
        flags = {"span": span, "predicted": predicted, "score": score, "positive": positive}
        flags["threshold"] = None if threshold is None else f"{threshold:g}"
        _init_experiment(experiment, tracking_uri, flags, config, json=json)
        return
    if experiment or span:
        message = "PREDICTIONS and --experiment both name predictions; give one of them"
        raise typer.BadParameter(message)
    path = predictions = _pattern(predictions)
    if "://" not in path and not Path(path).is_absolute():
        # Paths of a config start at its own folder, which need not be the one that init runs in.
        path = Path(os.path.relpath(path, config.parent)).as_posix()
    _refuse_without_table(predictions, table)
    described = _described(path, config.parent, table)
    chosen = Chosen(id_, time, score, predicted, positive, threshold, label, table, classes)
    command = ["pr-monitor", "init", predictions, *_config_option(config)]
    first = first_config(path, described, chosen, command)
    with writing(config):
        config.write_text(first.text, encoding="utf-8")
    _echo_first(first, described, config, json=json)


def _init_experiment(
    experiment: str,
    tracking_uri: str,
    flags: Mapping[str, str | None],
    config: Path,
    *,
    json: bool,
) -> None:
    from monitor.config.adapters import SOURCES
    from monitor.config.template import proposed_config

    propose = SOURCES.adapter("mlflow_traces").propose
    chosen = {name: value for name, value in flags.items() if value is not None}
    assert propose is not None  # noqa: S101  it is ours
    proposal = propose(experiment, config.parent, tracking_uri, chosen)
    with writing(config):
        config.write_text(proposed_config(proposal), encoding="utf-8")
    values = {"config": str(config), "source": proposal.source}
    echo_answer(values, [*proposal.source, _wrote(config)], json=json)


def _config_option(config: Path) -> list[str]:
    return [] if config == CONFIG else ["--config", str(config)]


def _wrote(config: Path) -> str:
    command = shlex.join(["pr-monitor", "check", *_config_option(config)])
    return f"wrote {config}; read it, then run: {command}"


def check(config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """Check everything in the config, and report problems.

    Checks the source, labels, store, MLflow and its permissions, and says what is wrong and what to
    do. LOOK marks a finding that stops no round but needs your attention, such as a window without
    flagged items; the exit code is still 0. Creates the store's tables and the MLflow experiments
    if they do not exist.
    """
    from monitor.cli.commands.checks import checks
    from monitor.cli.views.checked import echo_check
    from monitor.config.load import load_config
    from monitor.wiring import build

    application = build(load_config(config))
    tried = []
    for check in checks(application, config):
        tried.append(check)
        if not json:
            echo_check(check)
    application.database.close()
    code = gravest(each.code for each in tried)
    if json:
        echo_json({"checks": tried, "ok": code == 0})
    raise typer.Exit(code)


def upgrade(config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """Create the tables of the store, or upgrade them.

    Runs in one transaction; rounds and labels stay.
    """
    from monitor.config.load import load_config
    from monitor.storage import schema
    from monitor.storage.database import Database

    database = Database(load_config(config, hooks=False).store_url)
    try:
        before = schema.current_revision(database)
        schema.upgrade(database)
        after = schema.current_revision(database)
    finally:
        database.close()
    sentence = f"{database.shown}: schema {before} upgraded to {after}"
    if before == after:
        sentence = f"{database.shown} is up to date (schema {after})"
    elif before is None:
        sentence = f"{database.shown}: tables created (schema {after})"
    echo_answer({"before": before, "after": after}, sentence, json=json)


def check_schema(config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """Check whether the store has this version's tables.

    Exit code 78 if not, with the command that helps.
    """
    with opened(config, make_store=False) as application:
        sentence = f"{application.database.shown} holds this version's tables"
        echo_answer({"ok": True}, sentence, json=json)


def _pattern(predictions: str) -> str:
    """Write a folder as the pattern of the files in it."""
    if "://" in predictions or not Path(predictions).is_dir():
        return predictions
    from monitor.files.relations import pattern_of_folder

    return pattern_of_folder(Path(predictions))


def _echo_first(first: FirstConfig, described: Described, config: Path, *, json: bool) -> None:
    """Print the columns, the answer for each monitor, and the command to run next."""
    from monitor.cli.commands.first_answer import answers_document, columns_text, first_answer

    answers, problems = [], []
    with opened(config) as application:
        for context in application.monitors:
            try:
                answers.append(first_answer(context, described, first.columns))
            except MonitorError as error:
                problems.append(f"{context.settings.name}: {error}")
    values = {
        "config": str(config),
        "columns": first.columns,
        "guesses": first.guesses,
        "answers": answers,
        "problems": problems,
    }
    document = [
        columns_text(first.columns),
        *first.guesses,
        *answers_document(answers),
        *(f"{painted('PROBLEM', 'red')} {problem}" for problem in problems),
        "",
        _wrote(config),
    ]
    echo_answer(values, document, json=json)


def _refuse_without_table(path: str, table: str | None) -> None:
    from monitor.files.relations import SUFFIXES

    is_database = "://" in path
    tables = tuple(suffix for suffix, kind in SUFFIXES.items() if kind == "duckdb")
    if table is None and (is_database or path.lower().endswith(tables)):
        named = "this is the address of a database" if is_database else f"{path} is a DuckDB file"
        message = f"{named}, name its table or view"
        raise typer.BadParameter(message, param_hint="--table")


def _described(path: str, folder: Path, table: str | None) -> Described:
    if "://" in path:
        from monitor.sources.sql_describe import DescribedTable

        return DescribedTable(path, table or "", folder)
    from monitor.files.relations import DescribedFiles

    return DescribedFiles(path, folder, table)
