"""The report of a period: what `pr-monitor report --period` writes and prints."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

from monitor.api import opened
from monitor.cli.common import chosen_monitors
from monitor.cli.views.printing import echo_answer
from monitor.domain.errors import InputRefused
from monitor.presentation.numbers import plural

if TYPE_CHECKING:
    from monitor.domain.period_report import PeriodReport


def report_of_period(
    config: Path, monitor: str | None, name: str, out: Path | None, *, json: bool
) -> None:
    """Write the report of a period of one monitor, or of each that has rounds in it."""
    from monitor.domain.period_report import PeriodReports
    from monitor.report.period_html import period_html

    reports, refusals = _read(config, monitor, name)
    path = out or Path(f"{reports[0].monitor if len(reports) == 1 else 'monitors'}-{name}.html")
    if out is not None or not json:
        write_report(path, period_html(reports))
    lines = [
        f"{path}: {each.monitor}, {name}, {plural(len(each.rounds), 'closed round')}"
        for each in reports
    ]
    lines += [f"not in it: {refusal}" for refusal in refusals]
    if any(not alert.notes for report in reports for alert in report.alerts):
        command = "pr-monitor alerts resolve ID --note TEXT"
        lines.append(f"some alerts have no note: {command} records what was done")
    echo_answer(PeriodReports(reports=reports, without_rounds=refusals), lines, json=json)


def _read(config: Path, monitor: str | None, name: str) -> tuple[list[PeriodReport], list[str]]:
    """Read the reports, and why some monitors have none; refuse if none has one."""
    from monitor.domain.period import parse_period
    from monitor.rounds.period import read_period

    days = parse_period(name)
    reports, refusals = [], []
    with opened(config) as application:
        now = application.clock()
        for context in chosen_monitors(application, monitor):
            try:
                with application.database.read() as connection:
                    reports.append(read_period(connection, context.settings, name, days, now))
            except InputRefused as error:
                refusals.append(str(error))
    if not reports:
        raise InputRefused("; ".join(refusals))
    return reports, refusals


def write_report(path: Path, page: bytes) -> None:
    """Write a report to a file, whole or not at all."""
    from monitor.files.atomic_write import write_whole

    def write(stream: IO[str]) -> None:
        stream.write(page.decode())

    write_whole(path, write)
