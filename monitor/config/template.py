"""The first config, made from the columns of the predictions and written as commented YAML.

Nothing is asked. What names and types do not decide is refused with the flag to give.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import PurePath

from monitor.domain.errors import InputRefused

_ID = ("id", "prediction_id", "request_id", "event_id", "item_id", "uuid", "key")
_TIME = (
    "scored_at",
    "predicted_at",
    "prediction_time",
    "predicted_time",
    "scoring_time",
    "timestamp",
    "event_time",
    "created_at",
    "time",
    "ts",
    "datetime",
    "date",
)
_SCORE = (
    "score",
    "probability",
    "proba",
    "prob",
    "y_score",
    "y_prob",
    "y_proba",
    "prediction_score",
    "predicted_probability",
    "confidence",
)
_PREDICTED = (
    "predicted",
    "prediction",
    "predicted_label",
    "predicted_class",
    "y_pred",
    "pred",
    "flagged",
    "decision",
)
_NOT_SHOWN = re.compile(r"score|prob|pred|model|version|label|class|target|flag|truth|decision|y_")
_WORD_PATTERNS = frozenset({"true", "false", "null", "yes", "no", "on", "off"})
_TEXT = re.compile(r"VARCHAR|ENUM|TEXT|STRING|OBJECT|STR", re.IGNORECASE)
_WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?\d*", re.IGNORECASE)
_NUMBER = re.compile(r"FLOAT\d*|DOUBLE|REAL|DECIMAL.*", re.IGNORECASE)
_TRUTH = re.compile(r"BOOL(EAN)?", re.IGNORECASE)
_TIMES = re.compile(r"TIMESTAMP.*|DATETIME.*|DATE", re.IGNORECASE)
_AWARE = re.compile(r"WITH TIME ZONE|TIMESTAMPTZ", re.IGNORECASE)
_SHOWN_AT_MOST = 5  # columns; a labeler reads no more


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which column holds what; None if there is no such column, or it shall be guessed."""

    id: str | None = None
    time: str | None = None
    score: str | None = None
    predicted: str | None = None
    positive: str | None = None
    threshold: float | None = None
    label: str | None = None
    table: str | None = None


def write_config(
    predictions: str,
    columns: Sequence[tuple[str, str]],
    chosen: Chosen | None = None,
    values_of: Callable[[str], Sequence[str]] | None = None,
) -> str:
    """Write a config for predictions with these columns.

    predictions: File or glob, relative to the folder where the config will stand, or the address of
        a database, variables in it as ``${NAME}``.
    columns: Name and type of each column, types as DuckDB names them.
    chosen: What the flags said; the rest is guessed.
    values_of: Lists the values of a column, so that the values of the other class are named too.

    Raises `InputRefused` if a column cannot be guessed or a named one does not exist, listing the
    columns and the flags to give.
    """
    result = _complete(dict(columns), chosen or Chosen())
    types = dict(columns)
    lines = [
        "# Written by `pr-monitor init` from the names and types of the columns: please read it.",
        "# The reference in the documentation has each setting, its default and the reason for it.",
        "store: sqlite:///monitor.db              # rounds, labels and estimates",
        "mlflow: {tracking_uri: sqlite:///mlflow.db}",
        "monitors:",
        f"  - name: {_name(result.table or '' if _is_address(predictions) else predictions)}",
        *_source(predictions, types, result, values_of),
        '    schedule: {cron: "0 6 * * MON", time_zone: UTC}   # every Monday at six',
        "    sample: {margin: {precision: 0.05, recall: 0.05}, max_labels: 1000}",
        *_labeling(predictions, result),
        "    # The first rounds propose limits; false_alarm_every counts rounds:",
        "    # limits: {precision: 0.80, recall: 0.50, false_alarm_every: 52}",
    ]
    return "\n".join(lines) + "\n"


def _complete(types: dict[str, str], chosen: Chosen) -> Chosen:
    result = _guessed(types, chosen)
    problems = [*_unknown(types, chosen), *_unspecified(types, result), *_contradictions(result)]
    if problems:
        listed = ", ".join(f"{name} ({kind})" for name, kind in types.items()) or "none"
        message = f"{'; '.join(problems)}. The columns are {listed}"
        raise InputRefused(message)
    has_rule = result.predicted is not None or result.threshold is not None
    return result if has_rule else replace(result, threshold=0.5)


def _guessed(types: dict[str, str], chosen: Chosen) -> Chosen:
    """Guess every column that no flag names from names and types."""
    return replace(
        chosen,
        id=chosen.id or _guess(types, _ID, _is_key, _ends_like_an_id),
        time=chosen.time or _guess_time(types),
        score=chosen.score or _guess(types, _SCORE, _is_number, _says_score),
        predicted=chosen.predicted or _guess_predicted(types, chosen),
    )


def _unknown(types: dict[str, str], chosen: Chosen) -> list[str]:
    flags = ("id", "time", "score", "predicted", "label")
    named = [(flag, getattr(chosen, flag)) for flag in flags]
    return [
        f"there is no column {name!r} (--{flag})"
        for flag, name in named
        if name is not None and name not in types
    ]


def _unspecified(types: dict[str, str], chosen: Chosen) -> list[str]:
    """Describe what is still unknown, each with its flag."""
    predicted = chosen.predicted
    unknown = {
        "nothing tells which column is the id (--id)": chosen.id is None,
        "nothing tells which column is the time of the prediction (--time)": chosen.time is None,
        "nothing tells which rows are flagged (--score with --threshold, or --predicted)": (
            predicted is None and chosen.score is None
        ),
        f"nothing tells which value of {predicted!r} means positive (--positive)": (
            predicted is not None and _needs_positive(types, predicted, chosen)
        ),
    }
    return [sentence for sentence, is_so in unknown.items() if is_so]


def _contradictions(chosen: Chosen) -> list[str]:
    """Describe which flags cannot be meant together."""
    predicted, score, threshold = chosen.predicted, chosen.score, chosen.threshold
    refused = {
        "--threshold needs a column of scores (--score)": threshold is not None and score is None,
        "--predicted and --threshold both say which rows are flagged; give one": (
            predicted is not None and threshold is not None
        ),
        f"--threshold {threshold} is no finite number": not math.isfinite(threshold or 0),
        "--positive needs --predicted": chosen.positive is not None and predicted is None,
    }
    return [sentence for sentence, is_so in refused.items() if is_so]


def _guess(
    types: dict[str, str],
    names: Sequence[str],
    fits: Callable[[str], bool],
    similar: Callable[[str], bool],
) -> str | None:
    """Return the first well-known name, or else the only column of a name like it."""
    fitting = {name.lower(): name for name, kind in types.items() if fits(kind)}
    for name in names:
        if name in fitting:
            return fitting[name]
    close = [name for lower, name in fitting.items() if similar(lower)]
    return close[0] if len(close) == 1 else None


def _guess_time(types: dict[str, str]) -> str | None:
    typed = [name for name, kind in types.items() if _TIMES.fullmatch(kind)]
    if len(typed) == 1:
        return typed[0]
    return _guess(types, _TIME, _is_time, lambda _: False)


def _guess_predicted(types: dict[str, str], chosen: Chosen) -> str | None:
    """Guess a predicted class, unless a threshold says that the score decides."""
    if chosen.threshold is not None or (chosen.score is not None and chosen.positive is None):
        return None
    if chosen.positive is not None:
        return _guess(types, _PREDICTED, _is_class_or_text, lambda _: False)
    return _guess(types, _PREDICTED, _is_class, lambda _: False)


def _needs_positive(types: dict[str, str], predicted: str, chosen: Chosen) -> bool:
    return chosen.positive is None and _TEXT.match(types.get(predicted, "")) is not None


def _is_key(kind: str) -> bool:
    return kind.upper() == "UUID" or any(of.match(kind) for of in (_TEXT, _WHOLE))


def _is_time(kind: str) -> bool:
    return _TIMES.fullmatch(kind) is not None or _TEXT.match(kind) is not None


def _is_number(kind: str) -> bool:
    return _NUMBER.fullmatch(kind) is not None


def _is_class(kind: str) -> bool:
    return any(of.fullmatch(kind) for of in (_TRUTH, _WHOLE))


def _is_class_or_text(kind: str) -> bool:
    return _is_class(kind) or _TEXT.match(kind) is not None


def _ends_like_an_id(name: str) -> bool:
    return name.endswith(("_id", "_uuid", "_key", " id"))


def _says_score(name: str) -> bool:
    return re.search(r"score|prob", name) is not None


def _source(
    predictions: str,
    types: dict[str, str],
    chosen: Chosen,
    values_of: Callable[[str], Sequence[str]] | None,
) -> list[str]:
    lines = [
        "    source:",
        *_location(predictions),
        *_table(chosen),
        f"      columns: {{{', '.join([*_columns(chosen), *_shown(types, chosen)])}}}",
    ]
    if not _AWARE.search(types[chosen.time or ""]):
        lines.append("      time_zone: UTC                     # of times that name no zone")
    if chosen.threshold is not None:
        lines.append(f"      threshold: {chosen.threshold!r:<26} # flagged: score >= threshold")
    elif chosen.positive is not None:
        lines += [f"      positive: {_value(chosen.positive)}", *_negative(chosen, values_of)]
    return lines


def _is_address(predictions: str) -> bool:
    return "://" in predictions


def _location(predictions: str) -> list[str]:
    if _is_address(predictions):  # whose ${NAME} is meant
        return ["      kind: sql", f"      url: {json.dumps(predictions, ensure_ascii=False)}"]
    return ["      kind: duckdb", f"      path: {_text(predictions)}"]


def _columns(chosen: Chosen) -> list[str]:
    named = {key: getattr(chosen, key) for key in ("id", "time", "score", "predicted")}
    return [f"{key}: {_text(name)}" for key, name in named.items() if name is not None]


def _negative(chosen: Chosen, values_of: Callable[[str], Sequence[str]] | None) -> list[str]:
    """Name the values of the other class, as the predictions have them now."""
    if values_of is None or chosen.predicted is None:
        return []
    values = values_of(chosen.predicted)
    if values and chosen.positive not in values:
        close = get_close_matches(str(chosen.positive).lower(), [v.lower() for v in values], 1)
        hint = "".join(f"; did you mean {v!r}?" for v in values if [v.lower()] == close)
        message = (
            f"no value of column {chosen.predicted!r} is {chosen.positive!r} (--positive); it has "
            f"{', '.join(map(repr, values))}{hint}"
        )
        raise InputRefused(message)
    others = [value for value in values if value != chosen.positive]
    listed = ", ".join(_value(value) for value in others)
    return [f"      negative: [{listed}]   # any other value is refused"] if others else []


def _table(chosen: Chosen) -> list[str]:
    return [] if chosen.table is None else [f"      table: {_text(chosen.table)}"]


def _shown(types: dict[str, str], chosen: Chosen) -> list[str]:
    """List texts for labelers to see: nothing that shows what the model or anyone answered."""
    if chosen.label is not None:
        return []
    taken = {chosen.id, chosen.time, chosen.score, chosen.predicted}
    texts = [
        name
        for name, kind in types.items()
        if name not in taken and _TEXT.match(kind) and not _NOT_SHOWN.search(name.lower())
    ]
    listed = ", ".join(_text(name) for name in texts[:_SHOWN_AT_MOST])
    return [f"show: [{listed}]"] if listed else []


def _labeling(predictions: str, chosen: Chosen) -> list[str]:
    if chosen.label is None:
        return ["    labeling: {kind: files, deadline: 5d}   # label files out, label files in"]
    return [
        "    labeling:",
        "      kind: column                       # labels come with time, nobody is asked",
        # Of a database the table is that of the source, unless another one is named.
        *([] if _is_address(predictions) else [f"      path: {_text(predictions)}"]),
        *([] if _is_address(predictions) else _table(chosen)),
        f"      id: {_text(chosen.id or '')}",
        f"      value: {_text(chosen.label)}",
        "      matures: 60d                       # a guess: when is the truth known for all?",
    ]


def _name(predictions: str) -> str:
    """Name the monitor for the file, or for the folder where the file is a pattern."""
    parts = [part for part in PurePath(predictions).parts if "*" not in part]
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", parts[-1].split(".")[0] if parts else "")
    name = stem.strip("-.")[:100]
    return (
        name
        if name and name.lower() not in _WORD_PATTERNS and not name[0].isdigit()
        else "predictions"
    )


def _value(text: str) -> str:
    """Write a value: a number and a truth as such, everything else as text."""
    return text if re.fullmatch(r"-?\d{1,15}|true|false", text) else _text(text)


def _text(text: str) -> str:
    """Write a text so that YAML and ``${NAME}`` leave it as it is."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_./*-]*", text) and text.lower() not in _WORD_PATTERNS
    if plain:
        return text
    quoted = json.dumps(text.replace("${", "$${"), ensure_ascii=False)
    return re.sub(
        "[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]",
        lambda match: f"\\u{ord(match[0]):04x}",
        quoted,
    )
