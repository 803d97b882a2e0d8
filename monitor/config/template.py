"""The first config: commented YAML, generated from the columns of the predictions."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import PurePath
from typing import NamedTuple

from monitor.config.column_guess import Chosen, ColumnGuess, Described, is_text
from monitor.config.label_delay import LabelDelay, label_delay
from monitor.domain.adapters import ProposedMonitor
from monitor.domain.errors import InputRefused
from monitor.domain.values import zero_one
from monitor.files.yaml_text import WORDS, monitor_name, yaml_text

_NOT_SHOWN = re.compile(r"score|prob|pred|model|version|label|class|target|flag|truth|decision|y_")
_AWARE = re.compile(r"WITH TIME ZONE|TIMESTAMPTZ", re.IGNORECASE)
_UTC = "took UTC as the time zone, since times name none"
_USUAL = frozenset({"1", "0", "true", "false", ""})  # read as yes and no without a setting
_SHOWN_AT_MOST = 5  # columns; a labeler reads no more


class FirstConfig(NamedTuple):
    """A config as text, the columns that it reads, and sentences on choices that were guessed."""

    text: str
    columns: Chosen
    guesses: list[str]


def first_config(
    predictions: str, described: Described, chosen: Chosen, command: Sequence[str]
) -> FirstConfig:
    """Generate a config for predictions.

    predictions: File or glob, relative to the folder of the config, or the address of a database,
        with variables as ``${NAME}``.
    chosen: The columns set by flags; the others are guessed.
    command: The command line, without the flags in ``chosen``.

    Raises `InputRefused` if a column cannot be guessed or does not exist; the message lists the
    columns and has a command that sets all of them.
    """
    guess = ColumnGuess(described, chosen, command)
    types, columns = guess.types, guess.chosen
    name = _name(columns.table or "" if "://" in predictions else predictions)
    lines = [
        *_named(name, columns, described),
        *_source(predictions, types, columns, described),
    ]
    text = _whole(lines, _labeling(predictions, columns, described), "sqlite:///mlflow.db")
    zone = [] if _AWARE.search(types[columns.time or ""]) else [_UTC]
    return FirstConfig(text, columns, [*guess.guesses, *zone])


def proposed_config(proposal: ProposedMonitor) -> str:
    """Generate a config for the monitor that a source proposes; people label on the page."""
    question = json.dumps(proposal.question, ensure_ascii=False)
    labeling = [f"    labeling: {{kind: page, question: {question}, deadline: 5d}}"]
    lines = [f"  - name: {yaml_text(proposal.name)}", *proposal.source]
    return _whole(lines, labeling, proposal.tracking_uri)


def _whole(monitor: Sequence[str], labeling: Sequence[str], tracking_uri: str) -> str:
    lines = [
        "# Written by `pr-monitor init` from the columns: please read it.",
        "# The reference in the documentation has each setting, its default and the reason for it.",
        "store: sqlite:///monitor.db              # rounds, labels and estimates",
        f"mlflow: {{tracking_uri: {json.dumps(tracking_uri)}}}",
        "monitors:",
        *monitor,
        '    schedule: {cron: "0 6 * * MON", time_zone: UTC}   # every Monday at six',
        "    sample: {margin: {precision: 0.05, recall: 0.05}, max_labels: 1000}",
        *labeling,
        "    # The first rounds propose limits; false_alarm_every counts rounds:",
        "    # limits: {precision: 0.80, recall: 0.50, false_alarm_every: 52}",
    ]
    return "\n".join(lines) + "\n"


def _named(name: str, chosen: Chosen, described: Described) -> list[str]:
    if chosen.classes is None:
        return [f"  - name: {name}"]
    values = described.class_values(chosen.classes)
    if not values:
        message = f"{chosen.classes!r} (--classes) has more values than classes, or none"
        raise InputRefused(message)
    listed = ", ".join(f"{monitor_name(value)}: {_value(value)}" for value in values)
    return [
        f'  - name: "{name}-{{class}}"            # a monitor for each class',
        f"    classes: {{column: {yaml_text(chosen.classes)}, values: {{{listed}}}}}",
    ]


def _source(
    predictions: str,
    types: dict[str, str],
    chosen: Chosen,
    described: Described,
) -> list[str]:
    named = {key: getattr(chosen, key) for key in ("id", "time", "score", "predicted")}
    columns = [f"{key}: {yaml_text(name)}" for key, name in named.items() if name is not None]
    kind, at = "duckdb", f"path: {yaml_text(predictions)}"
    if "://" in predictions:  # whose ${NAME} is meant
        kind, at = "sql", f"url: {json.dumps(predictions, ensure_ascii=False)}"
    lines = [
        "    source:",
        f"      kind: {kind}",
        f"      {at}",
        *_table(chosen),
        f"      columns: {{{', '.join([*columns, *_shown(types, chosen)])}}}",
    ]
    if not _AWARE.search(types[chosen.time or ""]):
        lines.append("      time_zone: UTC                     # of times that name no zone")
    if chosen.threshold is not None:
        lines.append(f"      threshold: {chosen.threshold!r:<26} # flagged: score >= threshold")
    elif chosen.positive is not None:
        lines += [f"      positive: {_value(chosen.positive)}", *_negative(chosen, described)]
    return lines


def _negative(chosen: Chosen, described: Described) -> list[str]:
    values = described.class_values(chosen.predicted or "")
    if values and chosen.positive not in values:
        close = get_close_matches(str(chosen.positive).lower(), [v.lower() for v in values], 1)
        hint = "".join(f"; did you mean {v!r}?" for v in values if [v.lower()] == close)
        message = (
            f"no value of column {chosen.predicted!r} is {chosen.positive!r} (--positive); it has "
            f"{', '.join(map(repr, values))}{hint}"
        )
        raise InputRefused(message)
    negatives = [value for value in values if value != chosen.positive]
    listed = ", ".join(_value(value) for value in negatives)
    return [f"      negative: [{listed}]   # any other value is refused"] if negatives else []


def _table(chosen: Chosen) -> list[str]:
    return [] if chosen.table is None else [f"      table: {yaml_text(chosen.table)}"]


def _shown(types: dict[str, str], chosen: Chosen) -> list[str]:
    """List text columns for labelers, except those that may reveal a prediction or a label."""
    if chosen.label is not None:
        return []
    taken = {chosen.id, chosen.time, chosen.score, chosen.predicted, chosen.classes}
    texts = [
        name
        for name, kind in types.items()
        if name not in taken and is_text(kind) and not _NOT_SHOWN.search(name.lower())
    ]
    listed = ", ".join(yaml_text(name) for name in texts[:_SHOWN_AT_MOST])
    return [f"show: [{listed}]"] if listed else []


def _labeling(predictions: str, chosen: Chosen, described: Described) -> list[str]:
    # Of a database the table is that of the source, unless another one is named.
    in_files = (
        [] if "://" in predictions else [f"      path: {yaml_text(predictions)}", *_table(chosen)]
    )
    if chosen.label is None:
        return ["    labeling: {kind: files, deadline: 5d}   # label files out, label files in"]
    return [
        "    labeling:",
        "      kind: column                       # labels come with time, nobody is asked",
        *in_files,
        f"      id: {yaml_text(chosen.id or '')}",
        f"      value: {yaml_text(chosen.label)}",
        *_answers(described.class_values(chosen.label)),
        *_matures(label_delay(described, chosen)),
    ]


def _answers(values: Sequence[str]) -> list[str]:
    """List the words for yes and no, if a column labeler does not know all of them."""
    listed = {
        name: ", ".join(yaml_text(value) for value in values if zero_one(value) == answer)
        for name, answer in (("positive", 1), ("negative", 0))
    }
    is_usual = {value.lower() for value in values} <= _USUAL
    return [f"      {name}: [{of}]" for name, of in listed.items() if of and not is_usual]


def _matures(delay: LabelDelay | None) -> list[str]:
    if delay is None:
        return [
            "      matures: 60d                       # a guess: when is the truth known for all?"
        ]
    column, matures = f"time: {yaml_text(delay.column)}", f"matures: {delay.days}d"
    return [
        f"      {column:<34} # when a label became known",
        f"      {matures:<34} # by then 95 % of {delay.labels:,} labels were known",
    ]


def _name(predictions: str) -> str:
    """Name the monitor after the file, or after the folder if the file is a pattern."""
    parts = [part for part in PurePath(predictions).parts if "*" not in part]
    name = monitor_name(parts[-1].split(".")[0] if parts else "")
    return name if name and name.lower() not in WORDS and not name[0].isdigit() else "predictions"


def _value(text: str) -> str:
    """Return a value as YAML: numbers, true and false as they are, others as text."""
    return text if re.fullmatch(r"-?\d{1,15}|true|false", text) else yaml_text(text)
