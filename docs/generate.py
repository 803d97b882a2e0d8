"""Makes the pages of the site about the config and the commands (`make docs`).

A class of settings gives its docstring and a table of its settings. `NOTES` says what a docstring
leaves out; a test fails for a setting that neither of them explains. A command gives its help and
a table of its arguments and options. `python docs/generate.py` writes these pages and those of
`generate_stats.py`; a test compares.
"""

from __future__ import annotations

import inspect
import re
import runpy
import sys
from datetime import timedelta
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic import BaseModel, SecretStr
from pydantic_core import PydanticUndefined
from typer.main import get_command

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

from monitor.cli.app import SECTIONS as GROUPS
from monitor.cli.app import app
from monitor.config.adapters import HOOKS, LABELERS, SOURCES, Kinds
from monitor.config.model import Classes, Config, MonitorConfig
from monitor.config.pages import PagesSettings, WebSettings
from monitor.domain.challenger import Challenger
from monitor.domain.judge import Judge
from monitor.domain.sample_settings import Bands, Cells, Cost, Margin, Sample
from monitor.domain.sampled_log import LogShares
from monitor.domain.settings import (
    Bound,
    FalseAlarms,
    Limits,
    Pooling,
    ReferenceMatrix,
    Schedule,
)
from monitor.limitable import LIMITABLE
from monitor.sources.shown_columns import ShownColumn
from monitor.sources.table_settings import (
    Columns,
    QueriedSettings,
    TableSettings,
)
from monitor.tracking.mlflow import MlflowSettings

UNITS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}


def of_kinds(title: str, kinds: Kinds[Any, Any, Any]) -> dict[str, type[BaseModel]]:
    """Return the settings of each kind that is installed, by the title of its section."""
    return {f"{title} of kind {kind}": kinds.adapter(kind).settings for kind in kinds.names()}


def own_columns() -> dict[str, type[BaseModel]]:
    """Return the columns of each kind of source that has others than tables have."""
    kinds = {kind: SOURCES.adapter(kind).settings for kind in SOURCES.names()}
    columns = {kind: each.model_fields["columns"].annotation for kind, each in kinds.items()}
    return {
        f"monitors: source.columns of kind {kind}": each
        for kind, each in columns.items()
        if each is not None and each is not Columns
    }


SECTIONS: dict[str, type[BaseModel]] = {
    "The file": Config,
    "mlflow": MlflowSettings,
    "false_alarms": FalseAlarms,
    "web": WebSettings,
    "pages": PagesSettings,
    "monitors": MonitorConfig,
    "monitors: classes": Classes,
    **of_kinds("monitors: source", SOURCES),
    "monitors: source, of every kind": QueriedSettings,
    "monitors: source.columns": Columns,
    **own_columns(),
    "monitors: source.columns.show, an entry": ShownColumn,
    "monitors: source.challenger": Challenger,
    "monitors: source.kept_with": LogShares,
    "monitors: judge": Judge,
    "monitors: schedule": Schedule,
    "monitors: sample": Sample,
    "monitors: sample.margin": Margin,
    "monitors: sample.bands": Bands,
    "monitors: sample.cells": Cells,
    "monitors: sample.cost": Cost,
    **of_kinds("monitors: labeling", LABELERS),
    "monitors: reference": ReferenceMatrix,
    "monitors: limits": Limits,
    "monitors: limits, a metric with sides": Bound,
    "monitors: pooling": Pooling,
    **of_kinds("hooks", HOOKS),
}

CHANGED_BY_MOST = {
    "Config": "monitors mlflow hooks",
    "MlflowSettings": "tracking_uri",
    "WebSettings": "listen allow_remote",
    "PagesSettings": "listen login names",
    "MonitorConfig": "source schedule limits",
    "Classes": "column values",
    "DuckdbSettings": "path",
    "SqlSettings": "url table",
    "LakeSettings": "delta iceberg",
    "SparkSettings": "table path",
    "QueriedSettings": "columns threshold positive",
    "Columns": "id time score",
    "TraceColumns": "predicted score show",
    "Challenger": "score threshold",
    "Judge": "column positive",
    "Schedule": "cron time_zone lag",
    "Sample": "margin max_labels",
    "FilesSettings": "folder format question",
    "ColumnSettings": "matures missing_means time",
    "PageSettings": "question guideline deadline",
    "LabelStudioSettings": "url token question",
    "ReviewSettings": "question deadline",
    "Pooling": "hazard",
    "WebhookSettings": "url secret",
    "CommandSettings": "command",
}
"""The two or three settings of a section that most configs change: first in its table, and bold."""

NOTES = {
    "kind": "names the adapter; the other settings of the section depend on it",
    "Config.monitors": "one entry for each classifier",
    "Config.mlflow": "where rounds are shown; MLflow being down never delays an alert",
    "Config.hooks": "by name; a monitor lists those that it tells",
    "WebSettings.listen": "`HOST:PORT`; an IP address of this machine or `localhost`",
    "MlflowSettings.tracking_uri": "MLflow's own default, beside the config",
    "MlflowSettings.experiment_prefix": "experiments are `<prefix>/<monitor>` and, for all "
    "monitors, `<prefix>`",
    "MonitorConfig.for_each": "a placeholder with its values: a monitor for each",
    "MonitorConfig.classes": "a monitor for each class of a classifier with several",
    "Classes.column": "the column with the predicted class",
    "Classes.values": "the classes, or a name of each with the class",
    "MonitorConfig.source": "where predictions come from",
    "MonitorConfig.schedule": "when rounds are due",
    "MonitorConfig.sample": "how many labels a round may ask for",
    "MonitorConfig.labeling": "where labels come from, and until when",
    "MonitorConfig.reference": "labels from before launch: for planning, the detector's first "
    "guess and, with scores or one band a class, pooling",
    "MonitorConfig.limits": "what must hold; none: nothing alerts, and limits are proposed",
    "MonitorConfig.pooling": "how earlier rounds inform this one",
    "DuckdbSettings.path": "file, pattern (`predictions/*.parquet`) or list of them, relative to "
    "the config; Parquet, CSV or DuckDB",
    "DuckdbSettings.table": "table or view of a DuckDB file; for no other kind",
    "LakeSettings.delta": "folder of a Delta table, relative to the config, or its address",
    "LakeSettings.storage": "options of deltalake for a store of objects",
    "LakeSettings.iceberg": "table of an Iceberg catalog",
    "LakeSettings.catalog": "properties of pyiceberg for the catalog and its store of objects",
    "TableSettings.columns": "which column holds what",
    "TableSettings.time_zone": "of times that name no zone; without it they are refused",
    "TableSettings.where": "only rows whose column has this value, or one of these",
    "TableSettings.positive": "values of `columns.predicted` that flag a row",
    "TableSettings.negative": "values that do not; 0 and false unless given, others are refused",
    "SqlSettings.url": "address for SQLAlchemy, passwords as `${NAME}`: [databases](../how-to/sources-sql.md)",
    "SqlSettings.table": "table or view, `name` or `schema.name`",
    "QueriedSettings.time_unit": "of times that are numbers; not for kind `duckdb`",
    "SparkSettings.table": "table or view of Spark's catalog",
    "SparkSettings.path": "folder, file or pattern, or a list of them; a relative one starts at "
    "the config, on this machine",
    "SparkSettings.format": "of `path`; `delta` where the session has Delta's packages",
    "SparkSettings.master": "address of a cluster, for which a session is started: "
    "[Spark](../how-to/sources-spark.md)",
    "SparkSettings.remote": "address of a Spark Connect server, a token as `${NAME}`",
    "SparkSettings.config": "settings of Spark for the session that `master` starts, keys as "
    "`${NAME}`",
    "Columns.id": "what a prediction is known by; text, whole numbers or UUIDs",
    "Columns.time": "when the prediction was made",
    "Columns.score": "any finite number, higher for more likely positive; makes the score cells",
    "Columns.predicted": "the predicted class, where no threshold on the score gives it",
    "TableSettings.challenger": "[another classifier](../how-to/challenger.md), compared in each round",
    "LogShares.flagged": "of a flagged prediction",
    "LogShares.passed": "of a passed prediction",
    "Challenger.name": "what people see; a new name restarts comparisons",
    "Challenger.score": "its scores; together with `threshold`",
    "Challenger.threshold": "scores from it on are flagged",
    "Challenger.predicted": "its predicted class, in place of both; read as `columns.predicted` is",
    "MonitorConfig.judge": "[a second opinion](../how-to/judge.md) that saves labels",
    "Judge.column": "the column of its verdicts",
    "Judge.positive": "values that mean yes",
    "Judge.negative": "values that mean no; every other one unless given",
    "Judge.threshold": "numbers from it on mean yes, in place of `positive`",
    "Judge.version": "what gave the verdicts; another one begins a new history",
    "ShownColumn.column": "the column, shown under its own name",
    "ShownColumn.kind": "how it is shown: [what items may show](../how-to/shown-items.md)",
    "ShownColumn.table": "columns that are shown together, with a row for each",
    "ShownColumn.name": "the heading, in place of the column's own name",
    "Columns.model_version": "a new value opens a new history",
    "Schedule.cron": "five fields of cron, in `time_zone`; daylight saving as cron has it "
    "([When rounds run](../how-to/schedule.md))",
    "Schedule.time_zone": "in which `cron` is read",
    "Sample.margin": "none: all of `max_labels` are asked for",
    "Sample.bands": "how finely the scores of a class are cut",
    "Sample.cells": "draw labels from fine cells of the score; none: from the bands",
    "Margin.precision": "half-width of the interval for precision",
    "Margin.recall": "half-width of the interval for recall",
    "Bands.flagged": "bands among predicted positives",
    "Bands.passed": "bands among predicted negatives",
    "Cells.flagged": "cells among predicted positives",
    "Cells.passed": "cells among predicted negatives",
    "Sample.cost": "of labels, where they cost more in one class",
    "Cost.flagged": "of a label of a predicted positive",
    "Cost.passed": "of a label of a predicted negative",
    "FilesSettings.folder": "relative to the config",
    "FilesSettings.format": "of the task files",
    "PageSettings.guideline": "Markdown file, relative to the config",
    "PagesSettings.listen": "`127.0.0.1:8089` for this machine, `0.0.0.0:8443` for others too",
    "PagesSettings.names": "names or addresses, without port",
    "PagesSettings.login": "none: by a link in the log, on this machine",
    "ColumnSettings.path": "file, pattern or list of them, relative to the config; left out, the "
    "truth is read where `source` reads, unless that is of kind `duckdb`",
    "ColumnSettings.table": "of `path`, the table or view of a DuckDB file; without it, the table "
    "as `source` names its own, which is the one taken if nothing is named",
    "ColumnSettings.id": "column that holds the id of the prediction",
    "ColumnSettings.deadline": "`matures` unless given; counts from the slot of the round",
    "ColumnSettings.checks": "random items a round that people label too, see "
    "[several labelers](../how-to/several-labelers.md)",
    "Labeling.deadline": "counts from the draw of the round",
    "Labeling.late_labels": "labels that come within it after closing still correct the round; "
    "after it what people were shown is deleted",
    "Limits.bounds": "metrics stand directly under `limits`: "
    + ", ".join(f"`{metric}`" for metric in LIMITABLE)
    + "; a number, or `at_least` and `at_most`",
    "Limits.notify_provisional": "one notice where provisional numbers are beyond a limit; "
    "[no promise covers it](../how-to/alerts.md#what-is-sent-and-what-if-it-fails)",
    "Bound.at_least": "alerts when the metric falls below",
    "Bound.at_most": "alerts when the metric rises above",
    "ReferenceMatrix.tp": "flagged and positive",
    "ReferenceMatrix.fp": "flagged and negative",
    "ReferenceMatrix.fn": "passed and positive",
    "ReferenceMatrix.tn": "passed and negative",
    "WebhookSettings.secret": "signs each notice; `whsec_...` or 24 bytes or more",
    "WebhookSettings.timeout": "for the whole delivery: a receiver should only queue",
    "AppriseSettings.timeout": "for the whole delivery",
    "CommandSettings.timeout": "then it is killed, with all that it started",
}

HEAD = """\
# Config

One YAML 1.2 file, `config.yaml` unless `--config` names another. Unknown keys, keys given twice
and impossible values are refused, all at once, each with file, line, path and what to do:

```text
config.yaml:14, monitors[mail-travel].limits.recall: 80 is not a share. It must lie between 0 and 1; did you mean 0.80?
```

- **Paths** are relative to the folder of the file, those in `sqlite:///FILE` too.
- **Durations** are a number and a unit: `45s`, `30m`, `6h`, `5d`, `2w`.
- **Shares** are strictly between 0 and 1.
- **Bold** settings come first: most configs change these, and few the others.
- **`${NAME}`** in a text is read from the environment; `$${` stands for the characters.
- **Secrets** must not be written into the file: use `secret: ${NAME}`, or `secret_file: PATH` to have
  it read from a file (a line break at its end is left out). This holds for a hook's `url` too,
  of which one part must be a variable, and for passwords in addresses.
"""


def page() -> str:
    """Return the page about the config."""
    return "\n".join([HEAD, *(section(title, model) for title, model in SECTIONS.items())])


def section(title: str, model: type[BaseModel]) -> str:
    """Return the part about one class of settings."""
    text = re.sub(r"``(.+?)``", _code, description(model), flags=re.DOTALL)
    text = re.sub(r"\]\(([a-z-]+\.md)", r"](../how-to/\1", text)
    usual = CHANGED_BY_MOST.get(model.__name__, "").split()
    keys = [key for key in model.model_fields if not is_shared(model, key)]
    first = sorted(set(usual) & set(keys), key=usual.index)
    rows = [row(model, key).replace(f"`{key}`", f"**`{key}`**", 1) for key in first]
    rows += [row(model, key) for key in keys if key not in first]
    table = ["| setting | value | default | meaning |", "|---|---|---|---|", *rows]
    return "\n".join([f"## {title}", "", text, "", *(table if rows else []), ""])


def is_shared(model: type[BaseModel], key: str) -> bool:
    """Whether a kind of source takes a setting as the section on every kind has it."""
    common = QueriedSettings.model_fields.get(key)
    return (
        model is not QueriedSettings
        and issubclass(model, TableSettings)
        and common is not None
        and (common.default, common.annotation)
        == (model.model_fields[key].default, model.model_fields[key].annotation)
    )


def description(model: type[BaseModel]) -> str:
    """Return the docstring of a class; the section on every kind of source has two."""
    texts = [inspect.cleandoc(model.__doc__ or "")]
    if model is QueriedSettings:
        texts.append(inspect.cleandoc(TableSettings.__doc__ or "").partition("\n\n")[2])
    return "\n\n".join(texts)


def _code(match: re.Match[str]) -> str:
    return f"`{' '.join(match[1].split())}`"


def row(model: type[BaseModel], key: str) -> str:
    """Return a line of the table."""
    field = model.model_fields[key]
    annotation = (
        Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    )
    name = "METRIC" if (model, key) == (Limits, "bounds") else field.alias or key
    cells = [f"`{name}`", value(annotation), default(model, field, name), note(model, key)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def note(model: type[BaseModel], key: str) -> str:
    """Return what is said of a setting, of the class or of one that it extends."""
    for one in model.__mro__:
        value = NOTES.get(f"{one.__name__}.{key}")
        if value is not None:
            return value
    return NOTES.get(key, "see above" if mentioned(model, key) else "")


def mentioned(model: type[BaseModel], key: str) -> bool:
    """Whether the docstring of the class, or of one that it extends, explains a setting."""
    return any(re.search(rf"``{key}\b", one.__doc__ or "") for one in model.__mro__)


def value(annotation: Any) -> str:
    """Describe in words what may be written."""
    if get_origin(annotation) is Annotated:
        kind, *metadata = get_args(annotation)
        return limited(value(kind), metadata)
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{word}`" for word in get_args(annotation))
    if get_origin(annotation) is tuple:
        return f"list of {value(get_args(annotation)[0])}"
    if get_origin(annotation) is dict:
        return f"name: {value(get_args(annotation)[1])}"
    parts = [part for part in get_args(annotation) if part is not NoneType]
    if parts:
        terms = " or ".join(dict.fromkeys(value(part) for part in parts))
        return terms.replace("true or false or whole number or number or text", "value")
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "section"
    terms = {int: "whole number", float: "number", bool: "true or false", timedelta: "duration"}
    return {**terms, SecretStr: "secret"}.get(annotation, "text")


def limited(kind: str, metadata: list[Any]) -> str:
    """Add the bounds of a value to its kind."""
    validators = {getattr(getattr(one, "func", None), "__name__", "") for one in metadata}
    if "_share" in validators:
        return "share"
    if "_valid_zone" in validators:
        return "time zone"
    terms = {"gt": "above", "ge": "from", "lt": "below", "le": "to"}
    matches = [
        f"{terms[name]} {plain(getattr(one, name))}"
        for one in metadata
        for name in terms
        if getattr(one, name, None) is not None
    ]
    return f"{kind} {' '.join(matches)}".strip()


def default(model: type[BaseModel], field: Any, name: str) -> str:
    """Return a default as it would be written; what must be given has none."""
    if name == "METRIC":
        return "none"
    if field.default is PydanticUndefined:
        return "*must be given*" if field.default_factory is None else "none"
    if field.default is None or field.default == ():
        return "none"
    if name == "deadline" and "matures" in model.model_fields:
        return "`matures`"
    return "see there" if isinstance(field.default, BaseModel) else f"`{plain(field.default)}`"


def plain(provided: Any) -> str:
    """Write a value as the file would."""
    if isinstance(provided, timedelta):
        seconds = int(provided.total_seconds())
        fitting = [(u, size) for u, size in UNITS.items() if seconds and seconds % size == 0]
        unit, size = fitting[0] if fitting else ("s", 1)
        return f"{seconds // size}{unit}"
    if isinstance(provided, bool):
        return str(provided).lower()
    if isinstance(provided, tuple):
        return f"[{', '.join(plain(one) for one in provided)}]"
    return f"{provided:g}" if isinstance(provided, float) else str(provided)


COMMANDS_HEAD = """\
# Commands

- **Output** goes to standard output: text for people, or JSON with `--json`, and nothing else. Log
  lines, progress and errors go to standard error. Where standard output is no terminal there are
  no colours, and a row of a table is one line however long.
- **Exit codes** are 0 for all well (a firing alert too), 2 for wrong usage, 65 for input that is
  refused, 75 when something outside is down and running again is safe, and 78 for a config,
  schema or permission to fix. Of several problems the gravest counts: 78, then 65, then 75.
- **Times** are UTC unless they carry an offset: `2025-03-31`, `2025-03-31T06:00+02:00`.
- **The config** is `config.yaml`, or what `--config` or the variable `PR_MONITOR_CONFIG` names.
"""


def commands_page() -> str:
    """Return the page about the commands."""
    commands = dict(all_commands())
    ordered = [
        name
        for title in GROUPS.values()
        for first in title
        for name in commands
        if name.split()[1] == first and not is_only_a_group(commands[name])
    ]
    listed = [
        f"- [`{name}`](#{name.replace(' ', '-')}): {paragraphs(commands[name])[0]}" for name in ordered
    ]
    sections = [command_section(name, commands[name]) for name in ordered]
    return "\n".join([COMMANDS_HEAD, *listed, "", *sections])


def all_commands(group: Any = None, path: str = "pr-monitor") -> list[tuple[str, Any]]:
    """Return every command with its whole name, in the order of the help."""
    group = get_command(app) if group is None else group
    results = []
    for name in group.list_commands(typer.Context(group)):
        command = group.commands[name]
        results.append((f"{path} {name}", command))
        if hasattr(command, "commands"):
            results += all_commands(command, f"{path} {name}")
    return results


def is_only_a_group(command: Any) -> bool:
    """Whether a name does nothing but hold commands."""
    return hasattr(command, "commands") and not command.invoke_without_command


def paragraphs(command: Any) -> list[str]:
    """Return the paragraphs of a command's help, each on one line."""
    return [" ".join(part.split()) for part in inspect.cleandoc(command.help).split("\n\n")]


def command_section(name: str, command: Any) -> str:
    """Return the part about one command."""
    rows = [command_row(one) for one in shown_parameters(command)]
    table = ["| argument or option | default | meaning |", "|---|---|---|", *rows]
    return "\n".join([f"## {name}", "", "\n\n".join(paragraphs(command)), "", *table, ""])


def shown_parameters(command: Any) -> list[Any]:
    """Return arguments and options but for `--help`, arguments first."""
    return sorted(command.params, key=lambda one: not is_argument(one))


def is_argument(parameter: Any) -> bool:
    """Whether it stands without a name."""
    return parameter.param_type_name == "argument"


def command_row(parameter: Any) -> str:
    """Return a line of the table."""
    name = ", ".join(sorted(parameter.opts, reverse=True))
    if is_argument(parameter):
        name = parameter.metavar
    elif parameter.metavar:
        name = f"{name} {parameter.metavar}"
    if parameter.required:
        fallback = "*must be given*"
    elif parameter.default in (None, False):
        fallback = "none" if parameter.metavar else "off"
    else:
        fallback = f"`{parameter.default}`"
    return f"| `{name}` | {fallback} | {parameter.help} |"


def pages() -> dict[str, str]:
    """Return all pages of the reference that are made here, by their place in docs."""
    statistics = runpy.run_path(str(DOCS / "generate_stats.py"))
    return {
        "reference/config.md": page(),
        "reference/commands.md": commands_page(),
        "reference/metrics.md": statistics["metrics_page"](),
        "reference/python.md": statistics["python_page"](),
        "reference/stats.md": statistics["page"](),
    }


if __name__ == "__main__":
    for path, text in pages().items():
        (DOCS / path).write_text(text, encoding="utf-8")
