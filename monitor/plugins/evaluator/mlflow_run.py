"""What the evaluator `pr_monitor` reads from MLflow's data set and model, and logs to its run."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Metric, RunTag
from mlflow.exceptions import MlflowException
from mlflow.models.evaluation import EvaluationResult
from mlflow.models.evaluation.artifacts import JsonEvaluationArtifact, TextEvaluationArtifact
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE
from mlflow.tracking.artifact_utils import get_artifact_uri
from mlflow.utils.mlflow_tags import MLFLOW_LOGGED_ARTIFACTS, MLFLOW_RUN_NOTE
from mlflow.utils.time import get_current_time_millis

from monitor.domain.errors import InputRefused
from monitor.evaluation.designs import EvaluationSample, EvaluationStratum
from monitor.evaluation.result import Evaluation, evaluate_rows
from monitor.evaluation.rows import (
    Column,
    LabeledRows,
    column_of,
    holds_classes,
    read_rows,
    values_of,
)
from monitor.plugins.evaluator.design import DESIGN_SETTINGS, says_how_drawn
from monitor.presentation.numbers import NOT_ESTIMABLE, capital, digits_text
from monitor.results.estimates import COLUMNS, HEADLINE

log = logging.getLogger(__name__)

_DRAWN = ("random", "sizes", "prevalence", "flagged_rate")
_SETTINGS = (*_DRAWN, "weight", "stratum", "amount", "score", "threshold", "level", "metric_prefix")
_CLASSIFIER = "classifier"
_TWO_CLASSES = 2
_LONGEST_TAG = 5000
_LONGEST_PREFIX = 100  # characters; MLflow's names have 250
_PREFIX = re.compile(rf"(?:[\w-][\w. -]{{0,{_LONGEST_PREFIX - 1}}})?")
_SUM_OFF = 1e-3  # probabilities may come in half precision
_DECIMALS = 6
_REFERENCE = """\
# What these labels know, as a plain random sample would: for a monitor in config.yaml
reference: {{tp: {tp}, fp: {fp}, fn: {fn}, tn: {tn}}}
"""


def evaluate_dataset(
    *,
    model_type: str | None,
    dataset: Any,
    run_id: str,
    config: Mapping[str, Any],
    model: Any,
    predictions: str | None,
) -> EvaluationResult:
    """Evaluate MLflow's data set and log the result to the run.

    Raises `MlflowException` if something that was given cannot be used, with what to do.
    """
    try:
        _check_request(model_type, config)
        rows = _rows(dataset, model, predictions, config)
        drawn = EvaluationSample(
            has_weights=config.get("weight") is not None,
            **{name: config[name] for name in _DRAWN if config.get(name) is not None},
        )
        evaluation = evaluate_rows(rows, drawn, level=config.get("level", 0.95))
    except InputRefused as error:
        message = f"evaluator pr_monitor: {error}"
        raise MlflowException(message, error_code=INVALID_PARAMETER_VALUE) from error
    for warning in evaluation.warnings:
        log.warning("%s", warning)
    return _log(run_id, evaluation, config.get("metric_prefix") or "")


def _check_request(model_type: str | None, config: Mapping[str, Any]) -> None:
    if model_type not in {_CLASSIFIER, None}:
        message = (
            f"model_type is {model_type!r}; precision and recall are of binary classifiers, so "
            f"give model_type={_CLASSIFIER!r}, or take pr_monitor out of the evaluators"
        )
        raise InputRefused(message)
    unknown = [name for name in config if name not in _SETTINGS]
    if unknown:
        message = (
            f"evaluator_config has {', '.join(map(repr, unknown))}; known: {', '.join(_SETTINGS)}"
        )
        raise InputRefused(message)
    if not says_how_drawn(config):
        message = (
            "evaluator_config does not say how the labels were drawn; give one of "
            f"{', '.join(DESIGN_SETTINGS)}, such as {{'random': True}} for a plain random sample, "
            "or {'sizes': {'flagged': 1600, 'passed': 48400}} for labels drawn by predicted class"
        )
        raise InputRefused(message)
    _check_prefix(config.get("metric_prefix"))


def _check_prefix(prefix: object) -> None:
    """Refuse what MLflow would, but before half of the names are logged."""
    if prefix is None or (isinstance(prefix, str) and _PREFIX.fullmatch(prefix)):
        return
    message = (
        f"metric_prefix is {prefix!r}; it begins the names of metrics, tags and files, so it may "
        f"hold letters, digits, '_', '-', '.' and spaces, up to {_LONGEST_PREFIX} of them, and "
        "begins with none of the last two; did you mean 'validation_'?"
    )
    raise InputRefused(message)


def _rows(
    dataset: Any, model: Any, predictions: str | None, config: Mapping[str, Any]
) -> LabeledRows:
    if dataset.labels_data is None:
        message = "there are no labels; name the column of the truth in targets"
        raise InputRefused(message)
    features, score, threshold = dataset.features_data, config.get("score"), config.get("threshold")
    output = dataset.predictions_data if model is None else _output(model, features, config)
    name = "the predictions" if model is None else "the model's output"
    predicted, values = _predicted(output, name, predictions, threshold)
    if score is not None:
        is_output = isinstance(output, pd.DataFrame) and score in output.columns
        table = output if is_output else features
        values = values_of(table, score, "score")
    targets = dataset.targets_name
    return read_rows(
        Column("the targets" if targets is None else f"column {targets!r}", dataset.labels_data),
        predicted=predicted,
        score=values,
        threshold=threshold,
        weight=values_of(features, config.get("weight"), "weight"),
        stratum=values_of(features, config.get("stratum"), "stratum"),
        amount=values_of(features, config.get("amount"), "amount"),
    )


def _output(model: Any, features: Any, config: Mapping[str, Any]) -> Any:
    """Ask the model, without the columns that are about the labels' drawing and not features."""
    if isinstance(features, pd.DataFrame):
        columns = (config.get(name) for name in ("weight", "stratum", "score"))
        ours = [name for name in columns if isinstance(name, str) and name in features.columns]
        features = features.drop(columns=ours)
    return model.predict(features)


def _predicted(
    output: Any, name: str, predictions: str | None, threshold: float | None
) -> tuple[Column | None, Column | None]:
    """Report predicted classes from scores; both are None if there is neither."""
    if output is None:
        return None, None
    if isinstance(output, pd.DataFrame):
        output = _of_table(output, name, predictions)
    values = np.asarray(output)
    if values.ndim > 1 and values.shape[1:] == (_TWO_CLASSES,):
        values = _of_positive(values, name)
    elif values.ndim > 1 and values.shape[1:] != (1,):
        message = (
            f"{name} has the shape {values.shape}; expected a class or a score for each row, "
            "or the probabilities of two classes"
        )
        raise InputRefused(message)
    column = Column(name, values)
    if threshold is None or holds_classes(values):
        return column, None
    return None, column


def _of_positive(values: Any, name: str) -> Any:
    """Take two columns for the probabilities of the negative and of the positive class."""
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        numbers = np.full(values.shape, np.nan)
    is_share = ((numbers >= 0) & (numbers <= 1)).all(axis=1)
    unexpected = ~(is_share & (np.abs(numbers.sum(axis=1) - 1) <= _SUM_OFF))
    if not unexpected.any():
        return numbers[:, 1]
    first = int(unexpected.argmax())
    message = (
        f"{name} has two columns that are not the probabilities of two classes: row {first} holds "
        f"{values[first, 0]!s} and {values[first, 1]!s}, and they should lie in [0, 1] and sum to "
        "1; give one column, or name the one with the predicted class in predictions"
    )
    raise InputRefused(message)


def _of_table(output: pd.DataFrame, name: str, predictions: str | None) -> Any:
    if predictions is not None:
        return column_of(output, predictions, "predictions")
    if len(output.columns) <= _TWO_CLASSES:
        return output.to_numpy()
    message = (
        f"{name} has the columns {', '.join(map(str, output.columns))}; name the one with the "
        "predicted class in predictions"
    )
    raise InputRefused(message)


class _ArtifactFile(NamedTuple):
    """An artifact: its text, and what it holds where it is JSON."""

    text: str
    content: Any = None
    is_table: bool = False

    def artifact(self, uri: str) -> Any:
        if self.content is None:
            return TextEvaluationArtifact(uri, self.text)  # type: ignore[no-untyped-call]
        return JsonEvaluationArtifact(uri, self.content)  # type: ignore[no-untyped-call]


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> _ArtifactFile:
    """Write rows in the form that MLflow's table view reads."""
    data = [[_short(row[column]) for column in columns] for row in rows]
    content = {"columns": list(columns), "data": data}
    return _ArtifactFile(json.dumps(content), content, is_table=True)


def _log(run_id: str, evaluation: Evaluation, prefix: str) -> EvaluationResult:
    client = MlflowClient()
    now = get_current_time_millis()  # type: ignore[no-untyped-call]
    run_tags = client.get_run(run_id).data.tags
    metrics = {f"{prefix}{name}": value for name, value in evaluation.metrics.items()}
    tags = {f"{prefix}{name}": text for name, text in _tags(evaluation).items()}
    files = {f"{prefix}{name}": file for name, file in _files(evaluation).items()}
    if MLFLOW_RUN_NOTE not in run_tags:  # a person's own words stay
        tags[MLFLOW_RUN_NOTE] = _note(evaluation)
    client.log_batch(
        run_id,
        [Metric(name, value, now, 0) for name, value in metrics.items()],
        [],
        [RunTag(name, text) for name, text in tags.items()],
    )
    artifacts = {}
    listed = _listed_tables(run_tags, [name for name, file in files.items() if file.is_table])
    client.set_tag(run_id, MLFLOW_LOGGED_ARTIFACTS, listed)
    for name, file in files.items():
        client.log_text(run_id, file.text, name)
        uri = get_artifact_uri(run_id, name)  # type: ignore[no-untyped-call]
        artifacts[Path(name).stem] = file.artifact(uri)
    return EvaluationResult(metrics, artifacts, run_id)  # type: ignore[no-untyped-call]


def _listed_tables(tags: Mapping[str, str], names: list[str]) -> str:
    """Enter tables where `mlflow.load_table` and MLflow's pages look for them."""
    listed = json.loads(tags.get(MLFLOW_LOGGED_ARTIFACTS, "[]"))
    entries = [{"path": name, "type": "table"} for name in names]
    return json.dumps(listed + [entry for entry in entries if entry not in listed])


def _note(evaluation: Evaluation) -> str:
    """Describe the run: the news and what to doubt, then the main figures."""
    figures = " · ".join(
        f"{metric} {_text(evaluation, metric)}" for metric in ("recall", "precision")
    )
    parts = [f"**{capital(figures)}.** {evaluation.drawn}, {evaluation.level:.0%} intervals."]
    parts += [f"**Warning:** {warning}." for warning in evaluation.warnings]
    rows = [f"| {metric} | {_text(evaluation, metric)} |" for metric in HEADLINE]
    return "\n\n".join([*parts, "\n".join(["| metric | estimate |", "| --- | --- |", *rows])])


def _text(evaluation: Evaluation, metric: str) -> str:
    ends = evaluation.ends(metric)
    return NOT_ESTIMABLE if ends is None else digits_text(*ends)


def _tags(evaluation: Evaluation) -> dict[str, str]:
    result = {"pr_monitor.drawn": evaluation.drawn}
    for metric in ("precision", "recall"):
        result[f"pr_monitor.{metric}"] = _text(evaluation, metric)
    result["pr_monitor.warnings"] = "; ".join(evaluation.warnings)[:_LONGEST_TAG] or "none"
    return result


def _files(evaluation: Evaluation) -> dict[str, _ArtifactFile]:
    curves = None if evaluation.curves is None else evaluation.plot("curves").svg
    strata, report = [row._asdict() for row in evaluation.strata], evaluation.to_dict()
    return {
        "pr_monitor_estimates.json": _table(evaluation.estimates, COLUMNS),
        "pr_monitor_strata.json": _table(strata, EvaluationStratum._fields),
        "pr_monitor_report.json": _ArtifactFile(json.dumps(report, indent=2), report),
        "pr_monitor_p3.svg": _ArtifactFile(evaluation.plot("prevalence").svg.decode()),
        **({} if curves is None else {"pr_monitor_curves.svg": _ArtifactFile(curves.decode())}),
        "pr_monitor_reference.yaml": _ArtifactFile(_REFERENCE.format(**evaluation.reference)),
    }


def _short(value: Any) -> Any:
    """Round numbers for the eye; the report has all digits."""
    return round(value, _DECIMALS) if isinstance(value, float) else value
