"""The command that asks "what if": another threshold, another classifier, the same labels."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorOption,
    OfARound,
    column_option,
    opened,
)
from monitor.cli.views.printing import echo, echo_json, echo_table
from monitor.presentation.numbers import NOT_ESTIMABLE, difference_text, interval_text, percent_text

if TYPE_CHECKING:
    from monitor.rounds.forecast.compare import Compared, Others
    from monitor.stats.core.counts import Interval
    from monitor.stats.estimation.paired import PairedMetric
    from monitor.storage.rounds.round_store import Round
    from monitor.wiring import Application


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("compare", cls=OfARound)(compare)


def compare(
    number: Annotated[int, typer.Argument(help="Number of the round.", metavar="ROUND")],
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", "-t", help="Flag scores from here on.", metavar="SCORE"),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--predictions", "-p", help="Predictions of another classifier.", metavar="FILE"
        ),
    ] = None,
    id_column: Annotated[str | None, column_option("--id", "Its column of ids.")] = None,
    score: Annotated[str, column_option("--score", "Its column of scores.")] = "score",
    predicted: Annotated[
        str | None, column_option("--predicted", "Its column of predicted classes, 1 or 0.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Ask what another threshold or classifier would do.

    The labels that are there decide: precision, recall and F1 of the round's window for both, and
    the difference between them, which is known better than either. With --threshold alone the
    classifier's own scores are used; with --predictions the scores of a Parquet or
    CSV file that has every labeled item, flagged by --predicted, or from --threshold on (the
    monitor's own if not given).
    """
    from monitor.cli.commands.results import only_monitor
    from monitor.rounds.forecast import compare as rounds_compare
    from monitor.rounds.round_page import find_round

    _refuse_incomplete(threshold, predictions, predicted)
    with opened(config) as application:
        name = only_monitor(application, monitor)
        with application.database.read() as connection:
            round_ = find_round(connection, name, number)
            if predictions is None and threshold is not None:
                compared = rounds_compare.at_threshold(connection, round_, threshold)
                other = f"threshold {threshold:g}"
            else:
                others = _others(
                    application,
                    round_,
                    rounds_compare.labeled_ids(connection, round_),
                    file=Path(predictions or ""),
                    columns=(id_column, score, predicted),
                    threshold=threshold,
                )
                compared = rounds_compare.with_others(connection, round_, others)
                other = str(predictions)
    if json:
        echo_json(_page(round_, compared, other))
    else:
        _echo(round_, compared, other)


def _refuse_incomplete(
    threshold: float | None, predictions: Path | None, predicted: str | None
) -> None:
    if threshold is None and predictions is None:
        message = "nothing to compare with; give a score or a file: --threshold, --predictions"
        raise typer.BadParameter(message, param_hint="--threshold")
    if predictions is None and predicted is not None:
        message = "it names a column of --predictions FILE; give that too"
        raise typer.BadParameter(message, param_hint="--predicted")


def _others(
    application: Application,
    round_: Round,
    ids: list[str],
    *,
    file: Path,
    columns: tuple[str | None, str, str | None],
    threshold: float | None,
) -> Others:
    """Read the other classifier's decisions; what is not said is as the monitor's source has it."""
    from monitor.cli.commands.other_predictions import read_others

    id_column, score, predicted = columns
    own = application.config.monitor(round_.monitor).source
    at = round_.settings.threshold if threshold is None else threshold
    if predicted is None and at is None:
        message = "the monitor has no threshold for scores; give one, or --predicted COLUMN"
        raise typer.BadParameter(message, param_hint="--threshold")
    return read_others(
        file,
        ids,
        id_column=id_column or own.item_format.id,
        score=None if predicted else score,
        predicted=predicted,
        threshold=at,
    )


def _page(round_: Round, compared: Compared, other: str) -> dict[str, Any]:
    from monitor.presentation.reasons import undefined_reason

    whole = asdict(compared.comparison)
    whole["metrics"] = [
        each | {"reason": each["reason"] and undefined_reason(each["reason"])}
        for each in whole["metrics"]
    ]
    return {
        "monitor": round_.monitor,
        "round": round_.number,
        "other": other,
        "labeled": compared.labeled,
        "positive": compared.positive,
        "flagged_counted": compared.counted,
        "missing": compared.missing,
        **whole,
    }


def _echo(round_: Round, compared: Compared, other: str) -> None:
    both = compared.comparison
    echo(f"{round_.monitor}, round {round_.number}: as it is, and {other}", indent="  ")
    echo(
        f"by {compared.labeled} labels, {compared.positive} of them positive; prevalence "
        f"{percent_text(both.prevalence.point)} ({percent_text(both.prevalence.low)} to "
        f"{percent_text(both.prevalence.high)}); {both.level:.0%} intervals of this window's items",
        indent="  ",
    )
    if compared.missing:
        from monitor.presentation.estimates import answered_at_random_text  # loads pydantic

        echo(answered_at_random_text(compared.missing), indent="  ")
    echo()
    echo_table(
        ["metric", "as it is", "other", "difference", "P(other higher)"],
        [
            *(_row(metric) for metric in both.metrics),
            ["flagged", _items(both.first_flagged), _items(both.second_flagged), "", ""],
        ],
    )
    echo()
    for paired in both.metrics:
        echo(_sentence(paired, other), indent="  ")
    echo(
        f"items flagged only as it is: {_items(both.only_first)}; only by the other: "
        f"{_items(both.only_second)}",
        indent="  ",
    )


def _row(paired: PairedMetric) -> list[str]:
    if paired.first is None or paired.second is None or paired.difference is None:
        return [paired.metric, NOT_ESTIMABLE, NOT_ESTIMABLE, "", ""]
    first, second = (interval_text(value) for value in (paired.first, paired.second))
    return [
        paired.metric,
        first,
        second,
        difference_text(paired.difference),
        f"{paired.higher:.3f}",
    ]


def _sentence(paired: PairedMetric, other: str) -> str:
    if paired.difference is None:
        from monitor.presentation.reasons import undefined_reason

        why = "" if paired.reason is None else undefined_reason(paired.reason)
        return f"{paired.metric}: {NOT_ESTIMABLE}: {why}"
    if paired.difference.low > 0:
        return f"{paired.metric} is higher with {other}"
    if paired.difference.high < 0:
        return f"{paired.metric} is lower with {other}"
    return f"{paired.metric}: these labels cannot tell which is higher"


def _items(interval: Interval) -> str:
    point, low, high = (
        f"{round(each):,}" for each in (interval.point, interval.low, interval.high)
    )
    return point if low == high else f"{point} ({low} to {high})"
