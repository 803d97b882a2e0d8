"""The parts of a report in words (`monitor.rounds.parts` has their figures)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from monitor.domain.report import RoundReport
from monitor.presentation.agreement import agreement_lines
from monitor.presentation.challenger import challenger_section
from monitor.presentation.checks import check_lines
from monitor.presentation.judge import judge_section
from monitor.presentation.section import Section
from monitor.presentation.segments import segments_section

SECTIONS: tuple[Callable[[RoundReport], Section], ...] = (
    challenger_section,
    judge_section,
    segments_section,
)
"""Sections in their order, each without tables and lines if there is nothing to report."""

COUNT_LINES: tuple[Callable[[RoundReport], Iterable[str]], ...] = (agreement_lines, check_lines)
"""Lines under the counts of a round."""
