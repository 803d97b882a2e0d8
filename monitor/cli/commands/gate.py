"""The command that decides for CI: gate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from monitor.api import opened
from monitor.cli.commands.labeled_sets import (
    FlaggedSizeOption,
    InUseOption,
    PassedSizeOption,
    PrevalenceOption,
    RandomOption,
    WeightOption,
    refuse_options,
    sample_by,
    says_how_drawn,
)
from monitor.cli.commands.results import only_monitor
from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorOption,
    argument,
    option,
    parse_pairs,
    writing,
)
from monitor.cli.views.printing import echo_answer
from monitor.domain.errors import InputRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from monitor.evaluation.designs import EvaluationSample
    from monitor.evaluation.gate import Gate, GateCheck
    from monitor.evaluation.rows import Column, LabeledRows
    from monitor.rounds.context import MonitorContext
    from monitor.stats.estimation.paired import Comparison

_COMPARED = ("precision", "recall")


class Required(NamedTuple):
    """What is required: limits by metric, and another classifier that is hardly better."""

    at_least: dict[str, float]
    other: Path | None
    tolerance: float
    id: str


def gate(
    labels: Annotated[
        Path | None, argument("FILE", "CSV or Parquet file with a row per labeled item.")
    ] = None,
    at_least: Annotated[
        list[str] | None, option("METRIC=SHARE", "Required of a metric: precision=0.80.")
    ] = None,
    not_worse_than: Annotated[
        Path | None, option("FILE", "Predictions of another classifier for the same items.")
    ] = None,
    tolerance: Annotated[
        float, option("SHARE", "Loss allowed against the other classifier.", min=0, max=1)
    ] = 0.02,
    label: Annotated[str, option("COLUMN", "Column of the true class, 1 or 0.")] = "label",
    predicted: Annotated[
        str | None, option("COLUMN", "Column of predicted classes, 1 or 0.")
    ] = None,
    score: Annotated[str | None, option("COLUMN", "Column of scores.")] = None,
    threshold: InUseOption = None,
    flagged_size: FlaggedSizeOption = None,
    passed_size: PassedSizeOption = None,
    weight: WeightOption = None,
    amount: Annotated[
        str | None, option("COLUMN", "Column of an amount by which items count, such as money.")
    ] = None,
    prevalence: PrevalenceOption = None,
    random: RandomOption = False,
    flagged_rate: Annotated[
        float | None, option("SHARE", "Flagged share of all items; checks a plain random sample.")
    ] = None,
    id_: Annotated[str, option("COLUMN", "Column of the item id in both files.", "--id")] = "id",
    number: Annotated[
        int | None, option("ROUND", "Use a closed round of a monitor instead.", "--round")
    ] = None,
    monitor: MonitorOption = None,
    config: ConfigOption = CONFIG,
    junit: Annotated[Path | None, option("FILE", "Write the result as JUnit XML.")] = None,
    json: JsonOption = False,
) -> None:
    """Decide in CI whether labels show that limits are kept.

    Exit code 0: every requirement is kept by its whole 95 % interval. 3: one is broken by its whole
    interval. 4: undecided, with the number of labels that would decide, or with
    what makes the labels doubtful. Labels come from a file, or
    from a round. Rows without a label count as the rest of the population; if there are none, say
    how the labels were drawn, as for monitor.evaluate. With --not-worse-than, precision and recall
    on the same labels are compared item by item.
    """
    from monitor.evaluation.gate import EXIT_CODES

    required = Required(_limits(at_least or []), not_worse_than, tolerance, id_)
    if not required.at_least and required.other is None:
        message = "nothing is required; give --at-least precision=0.80 or --not-worse-than FILE"
        raise InputRefused(message)
    predictions = {"--predicted": predicted, "--score": score, "--threshold": threshold}
    of_file = {
        "--flagged-size": flagged_size,
        "--passed-size": passed_size,
        "--weight": weight,
        "--amount": amount,
        "--prevalence": prevalence,
        "--random": random or None,
        "--flagged-rate": flagged_rate,
    }
    options = {name[2:]: value for name, value in (predictions | of_file).items()}
    if labels is not None:
        of_round = {"--round": number, "--monitor": monitor}
        refuse_options(of_round, f"is of a monitor, and {labels} a file; remove one")
        result = _of_file(labels, label, options, required)
    elif number is None:
        message = "name a labeled file, or a closed round by --round"
        raise InputRefused(message)
    else:
        refuse_options(of_file, "is of a labeled file; a round knows how its labels were drawn")
        if not_worse_than is None:
            why = "is of --not-worse-than; a round knows which of its items are flagged"
            refuse_options(predictions, why)
        with opened(config) as application:
            context = application.context(only_monitor(application, monitor))
            result = _of_round(context, number, options, required)
    if junit is not None:
        with writing(junit):
            junit.write_bytes(result.junit())
    echo_answer(result, result.line, json=json)
    raise typer.Exit(EXIT_CODES[result.verdict])


def _limits(texts: list[str]) -> dict[str, float]:
    from monitor.stats.core.metrics import METRICS

    limits = parse_pairs(texts, "--at-least", "precision=0.80")
    for metric, limit in limits.items():
        if metric not in METRICS:
            message = f"{metric!r} is not a metric; use one of {', '.join(METRICS)}"
            raise typer.BadParameter(message, param_hint="--at-least")
        if not 0 < limit < 1:
            message = f"{metric}={limit:g} is not a share between 0 and 1; write {metric}=0.80"
            raise typer.BadParameter(message, param_hint="--at-least")
    return limits


def _of_file(path: Path, label: str, options: dict[str, Any], required: Required) -> Gate:
    from monitor.evaluation.designs import EvaluationSample
    from monitor.evaluation.gate import Gate, doubtful_labels
    from monitor.evaluation.result import evaluate_rows
    from monitor.evaluation.rows import Column, class_sizes, column_of, read_rows, read_table

    frame = read_table(path, "the labeled file", text=required.id)
    _refuse_repeated(frame, required.id)
    has_label = column_of(frame, label, "--label").notna()
    if says_how_drawn(options) or has_label.all():
        drawn = sample_by(options, str(path))
    else:
        drawn = EvaluationSample(sizes=class_sizes(**_predictions(frame, options)))
        frame = frame[has_label]
    rows = read_rows(
        Column(f"column {label!r}", frame[label]),
        weight=_column(frame, options, "weight"),
        amount=_column(frame, options, "amount"),
        **_predictions(frame, options),
    )
    result = evaluate_rows(rows, drawn)
    unlabeled = None if drawn.sizes is None else sum(drawn.sizes.values()) - len(rows)
    checks = _limit_checks(result.estimate, required, len(rows), unlabeled)
    if required.other is not None:
        compared = _compared_rows(frame, rows, drawn, options, required)
        checks += _difference_checks(compared, required, len(rows))
    checks += map(doubtful_labels, result.warnings)
    return Gate(f"{path}: {result.drawn}", len(rows), tuple(checks))


def _refuse_repeated(frame: pd.DataFrame, id_: str) -> None:
    """Refuse items that would count twice, if the file has a column of ids."""
    ids = frame[id_].dropna() if id_ in frame else None
    if ids is not None and not ids.is_unique:
        repeated = ids[ids.duplicated()]
        message = (
            f"{len(repeated):,} of {len(frame):,} rows repeat a value of column {id_!r}, such as "
            f"{repeated.iloc[0]!r}; each item counts once, so remove them or name the ids by --id"
        )
        raise InputRefused(message)


def _predictions(frame: pd.DataFrame, options: dict[str, Any]) -> dict[str, Any]:
    """Find the columns of predictions that options name."""
    columns = {name: _column(frame, options, name) for name in ("predicted", "score")}
    return {**columns, "threshold": options["threshold"]}


def _column(frame: pd.DataFrame, options: dict[str, Any], name: str) -> Column | None:
    from monitor.evaluation.rows import values_of

    return values_of(frame, options[name], f"--{name}")


def _compared_rows(
    frame: pd.DataFrame,
    rows: LabeledRows,
    drawn: EvaluationSample,
    options: dict[str, Any],
    required: Required,
) -> Comparison:
    """Compare another classifier's decisions on the labeled rows."""
    import numpy as np

    from monitor.evaluation.designs import SEED, design_of
    from monitor.evaluation.rows import column_of
    from monitor.results.other_predictions import OtherColumns, read_others
    from monitor.stats.estimation.paired import compare

    if rows.amount is not None:
        message = "--not-worse-than compares items, and --amount counts none; remove one"
        raise InputRefused(message)
    if drawn.sizes is None:
        message = (
            "--not-worse-than needs the numbers of flagged and passed items: give --flagged-size "
            "and --passed-size, or keep the rows without a label in the file"
        )
        raise InputRefused(message)
    ids = column_of(frame, required.id, "--id").astype(str).tolist()
    columns = OtherColumns(required.id, options["score"], options["predicted"])
    others = read_others(required.other or Path(), ids, columns, options["threshold"])
    items = design_of(rows, drawn).items
    decisions = np.array([others.flags[item] for item in ids])
    return compare(items, items.is_flagged, decisions, rng=np.random.default_rng(SEED))


def _of_round(
    context: MonitorContext, number: int, options: dict[str, Any], required: Required
) -> Gate:
    from monitor.domain.report import find_row
    from monitor.evaluation.gate import Gate
    from monitor.results.other_predictions import OtherColumns
    from monitor.results.round_comparison import compare_round
    from monitor.rounds.round_page import read_report

    name = context.settings.name
    with context.database.read() as connection:
        report = read_report(connection, name, number, None)

    def estimate(metric: str) -> dict[str, Any]:
        row = find_row(report.estimates, metric, "round")
        return {"point": None, "reason": "no label"} if row is None else row.model_dump()

    labeled = report.labeled
    checks = _limit_checks(estimate, required, labeled)
    if required.other is not None:
        columns = OtherColumns(required.id, options["score"], options["predicted"])
        compared = compare_round(
            context, number, threshold=options["threshold"], file=required.other, columns=columns
        )
        checks += _difference_checks(compared.compared.comparison, required, labeled)
    return Gate(f"round {number} of {name}: {labeled:,} labels", labeled, tuple(checks))


def _limit_checks(
    estimate: Callable[[str], dict[str, Any]],
    required: Required,
    labeled: int,
    unlabeled: int | None = None,
) -> list[GateCheck]:
    from monitor.evaluation.gate import check_metric
    from monitor.stats.core.counts import Interval

    checks = []
    for metric, limit in required.at_least.items():
        row = estimate(metric)
        has_value = row["point"] is not None
        interval = Interval(row["point"], row["low"], row["high"]) if has_value else None
        checks.append(
            check_metric(metric, limit, interval, labeled, row["reason"], unlabeled=unlabeled)
        )
    return checks


def _difference_checks(comparison: Comparison, required: Required, labeled: int) -> list[GateCheck]:
    from monitor.evaluation.gate import check_difference

    return [
        check_difference(paired, str(required.other), required.tolerance, labeled)
        for paired in comparison.metrics
        if paired.metric in _COMPARED
    ]
