"""Commands that show results: status, rounds, show, report, compare, estimate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor import api
from monitor.api import opened
from monitor.cli.commands.period import report_of_period, write_report
from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorOption,
    argument,
    chosen_monitors,
    flag,
    option,
)
from monitor.cli.views.printing import echo_answer, width
from monitor.domain.errors import InputRefused
from monitor.fixed_text import significant_text

if TYPE_CHECKING:
    from monitor.config.model import Config
    from monitor.domain.class_report import ClassOverview
    from monitor.domain.settings import MonitorSettings
    from monitor.rounds.opening.removed_monitors import RemovedMonitor
    from monitor.wiring import Application


RoundArgument = Annotated[int, argument("ROUND", "Number of the round.")]
VersionOption = Annotated[
    int | None, option("NUMBER", "Show an earlier version.", "--version", min=1)
]


def status(
    config: ConfigOption = CONFIG, monitor: MonitorOption = None, json: JsonOption = False
) -> None:
    """Show the state of each monitor and what it waits for.

    alert: a metric passed its limit. stale: something prevents estimates. attention: rounds
    continue, but you should check the newest one. learning: no limits are set yet. ok:
    otherwise.
    """
    from monitor.cli.views.status_page import status_document, status_json, with_links
    from monitor.rounds.opening.removed_monitors import removed_monitors
    from monitor.rounds.status import overviews

    with opened(config) as application:
        monitors = [context.settings for context in chosen_monitors(application, monitor)]
        shown = [
            with_links(overview, application.link)
            for overview in overviews(application.database, monitors, application.clock())
        ]
        blocks = _blocks(application, monitors)
        removed: list[RemovedMonitor] = []
        if monitor is None:
            with application.database.read() as connection:
                removed = removed_monitors(connection, application.names)
        # One monitor's promise is in its settings; the promises of several add up.
        promised = application.config.false_alarms_a_year() if monitor is None else {}
        promises = promise_lines(application.config) if len(promised) > 1 else []
    # Of many monitors the values take time, and text has no use for them.
    values = status_json(shown, blocks, removed, application.config) if json else None
    echo_answer(values, status_document(shown, blocks, removed, promises), json=json)


def rounds(
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    last: Annotated[int, option("NUMBER", "Number of newest rounds per monitor.", min=1)] = 100,
    skipped: Annotated[bool, flag("--skipped", "Include skipped rounds.")] = False,
    json: JsonOption = False,
) -> None:
    """List rounds with their precision and recall.

    Each metric has two values: from the round alone (round), and with the earlier rounds of its
    history (pooled). Marks where a new history or another schedule began. In JSON, has_older is
    true if there are more rounds.
    """
    from monitor.cli.views.rounds_page import round_json, rounds_document
    from monitor.rounds.round_page import listed
    from monitor.storage.rounds.round_lists import MOST, ListQuery

    with opened(config, monitor=monitor) as application, application.database.read() as connection:
        query = ListQuery(monitor=monitor, last=min(last, MOST), skipped=skipped)
        result = listed(connection, query)
    rows = [round_json(row) for row in result.rows]
    values = {"rounds": rows, "hidden": result.hidden, "has_older": result.has_older}
    echo_answer(values, rounds_document(result, width()), json=json)


def show(
    number: RoundArgument,
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    version: VersionOption = None,
    json: JsonOption = False,
) -> None:
    """Show one round: counts, estimates, evidence, history.

    Late or changed labels give a round a new version; earlier versions stay available.
    """
    from monitor.cli.views.rounds_page import page_document, page_json
    from monitor.rounds.round_page import read_page

    with opened(config) as application:
        name = only_monitor(application, monitor)
        with application.database.read() as connection:
            page = read_page(connection, name, number, version)
    echo_answer(page_json(page), page_document(page), json=json)


def report(
    number: Annotated[
        int | None, argument("ROUND", "Number of the round. Default: the newest.")
    ] = None,
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    version: VersionOption = None,
    period: Annotated[
        str | None,
        option("PERIOD", "All rounds of 2026, 2026-Q3, 2026-09, 2026-09-30 or FROM..TO."),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "FILE",
            "Output file. Default: MONITOR-round-NUMBER.html or MONITOR-PERIOD.html in this "
            "folder.",
            dir_okay=False,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write a round or a period as one HTML file.

    The report of a round begins with a verdict and what to do. With --period the report has, for
    one monitor or each, limits, rounds, segments, alerts and what was done about them, changes and
    the method; --json prints it, and then only --out writes the file. The file needs no network and
    runs no script.
    """
    from monitor.report.html import report_html
    from monitor.rounds.round_page import read_report

    if period is not None:
        if number is not None or version is not None:
            message = "it has all of its rounds in their newest versions; omit ROUND and --version"
            raise typer.BadParameter(message, param_hint="--period")
        report_of_period(config, monitor, period, out, json=json)
        return
    with opened(config) as application:
        name = only_monitor(application, monitor)
        with application.database.read() as connection:
            result = read_report(connection, name, number, version)
    path = out or Path(f"{name}-round-{result.round}.html")
    write_report(path, report_html(result))
    echo_answer(
        {"monitor": name, "round": result.round, "version": result.version, "file": str(path)},
        f"{path}: {name}, round {result.round}, version {result.version}",
        json=json,
    )


def compare(
    number: RoundArgument,
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    threshold: Annotated[
        float | None, option("SCORE", "Flag scores from this value on.", "--threshold", "-t")
    ] = None,
    predictions: Annotated[
        Path | None, option("FILE", "Predictions of another classifier.", "--predictions", "-p")
    ] = None,
    id_column: Annotated[str | None, option("COLUMN", "Id column of that file.", "--id")] = None,
    score: Annotated[
        str | None, option("COLUMN", "Score column of that file. Default: score.")
    ] = None,
    predicted: Annotated[
        str | None, option("COLUMN", "Column of predicted classes, 1 or 0.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare another threshold or classifier on a round's labels.

    Estimates precision, recall and F1 of the round's window for both, and their difference, which
    is more precise than either. With --threshold alone it uses the classifier's own scores. With
    --predictions it uses the scores of a Parquet or CSV file with every labeled item, flagged by
    --predicted, or from --threshold on (by default the monitor's threshold).
    """
    import monitor as functions

    result = functions.compare(
        number,
        monitor=monitor,
        config=config,
        threshold=threshold,
        predictions=predictions,
        id=id_column,
        score=score,
        predicted=predicted,
    )
    echo_answer(result, result.document(), json=json)


def estimate(
    tp: Annotated[int, option("COUNT", "Labeled positive among the flagged.")],
    fp: Annotated[int, option("COUNT", "Labeled negative among the flagged.")],
    fn: Annotated[int, option("COUNT", "Labeled positive among the passed.")],
    tn: Annotated[int, option("COUNT", "Labeled negative among the passed.")],
    flagged_size: Annotated[int, option("COUNT", "Number of predicted positives, labeled or not.")],
    passed_size: Annotated[int, option("COUNT", "Number of predicted negatives, labeled or not.")],
    level: Annotated[float, option("SHARE", "Probability of each interval.")] = 0.95,
    json: JsonOption = False,
) -> None:
    """Estimate from one labeled matrix; needs no config.

    Flagged items are predicted positives, passed items predicted negatives, and each class is
    sampled separately. The rate describes the classifier; the window's value describes these items.
    """
    import monitor as functions

    result = functions.estimate(
        tp=tp, fp=fp, fn=fn, tn=tn, flagged_size=flagged_size, passed_size=passed_size, level=level
    )
    echo_answer(result, result.document(), json=json)


def promise_lines(config: Config) -> list[str]:
    """Return how many false alarms a year all monitors together promise; nothing without limits."""
    promised = config.false_alarms_a_year()
    if not promised:
        return []
    over = "" if len(promised) == 1 else f" over {len(promised)} monitors with limits"
    return [f"false alarms: at most {significant_text(sum(promised.values()))} a year{over}"]


def _blocks(
    application: Application, monitor_settings: Sequence[MonitorSettings]
) -> list[ClassOverview]:
    from monitor.rounds.round_page import class_overviews

    names = {each.round.block.name for each in monitor_settings if each.round.block is not None}
    if not names:
        return []
    every = [context.settings for context in application.monitors]
    return [each for each in class_overviews(application.database, every) if each.block in names]


def only_monitor(application: Application, monitor: str | None) -> str:
    """Return the name of the given monitor, or of the config's only one."""
    try:
        return api.only_monitor(application.config, monitor)
    except InputRefused as error:
        raise typer.BadParameter(str(error), param_hint="--monitor") from error
