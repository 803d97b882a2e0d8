"""The report of a round as one HTML file that asks nobody for anything and runs nothing.

It holds its style and its figures. Names, values and reasons come from data that strangers may
write, so every text is escaped, and the file forbids anything that escaping might miss: scripts,
other styles, and all addresses (a content security policy in its head).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from monitor.domain.report import RoundReport, TimelinePoint
from monitor.domain.visible import clean
from monitor.presentation.estimates import BASES, WHATEVER
from monitor.presentation.limit_comparisons import (
    colour_status,
    comparisons_of,
    headline_text,
)
from monitor.presentation.numbers import NOT_ESTIMABLE, capital, minute_text
from monitor.presentation.outcome import (
    best_row,
    holds_for_text,
    labels_text,
    meaning_sentences,
    method_sentences,
    to_do_sentences,
    unit_text,
    verdict_sentence,
    window_text,
)
from monitor.presentation.parts.curves import no_curves_text
from monitor.presentation.restatements import restated_lines
from monitor.presentation.round_document import (
    facts,
    limit_signs,
    next_round_section,
    round_sections,
    row_notes,
)
from monitor.report.curve_figures import single_curves
from monitor.report.figures import counts_svg, metric_svg, timeline_svg

if TYPE_CHECKING:
    from jinja2 import Environment


FILE = "report.html"
TEMPLATES = Path(__file__).parent / "templates"
_LONGEST = 400  # characters of one text

WATCHED = ("precision", "recall")


def report_html(report: RoundReport) -> bytes:
    """Write the report of a round; the same report always gives the same bytes."""
    comparisons = comparisons_of(report)
    return rendered(
        FILE,
        report=report,
        headline=headline_text(report.status, comparisons),
        colour=colour_status(report.status, comparisons),
        window=window_text(report),
        unit=unit_text(report),
        due=minute_text(report.slot),
        verdict=verdict_sentence(report),
        to_do=to_do_sentences(report),
        notes=row_notes(report),
        meaning=meaning_sentences(report),
        numbers=[_number(report, metric) for metric in WATCHED if report.estimates],
        restated=restated_lines(report.restated),
        sections=round_sections(report),
        next_round=next_round_section(report),
        method=method_sentences(report),
        facts=facts(report),
        **_figures_of(report),
    )


def rendered(template: str, /, **values: Any) -> bytes:
    """Fill a template, with the style and the policy that every report has."""
    style = Markup(_style())  # noqa: S704  our own file
    page = _environment().get_template(template)
    return page.render(policy=policy(), style=style, **values).encode()


@lru_cache(maxsize=1)
def policy() -> str:
    """Forbid everything but the style that the file holds, known by its digest."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@lru_cache(maxsize=1)
def _style() -> str:
    return (TEMPLATES / "report.css").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  takes 60 ms

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"clean": _clean, "sentence": _sentence}
    return environment


def _clean(text: object) -> str:
    return clean(str(text), _LONGEST)


def _sentence(text: str) -> str:
    """Begin with a capital and end with a full stop, as what stands alone does."""
    line = capital(_clean(text))
    return line if line.endswith((".", "?", "!")) else f"{line}."


def _figures_of(report: RoundReport) -> dict[str, Any]:
    counts = counts_svg(report)
    return {
        "timeline": [inline(timeline_svg(report))] if len(report.timeline) > 1 else [],
        "timeline_narrow": narrow_figures(report, report.timeline),
        "counts_figure": [] if counts is None else [inline(counts)],
        "curves": [inline(figure) for figure in single_curves(report)],
        "no_curves": no_curves_text(report),
        "holds_for": holds_for_text(report),
        "labels": labels_text(report),
    }


def narrow_figures(report: RoundReport, timeline: Sequence[TimelinePoint]) -> list[Markup]:
    """Draw each metric over some rounds with the limits of a report; nothing for one round."""
    if len(timeline) <= 1:
        return []
    limits = {
        metric: [row.limit for row in report.evidence if row.metric == metric] for metric in WATCHED
    }
    return [
        inline(metric_svg(timeline, metric, limits[metric], monitor=report.monitor))
        for metric in WATCHED
    ]


def inline(figure: bytes) -> Markup:
    """Embed a figure in the page: `monitor.drawing.svg` has escaped every text of it."""
    return Markup(figure.decode())  # noqa: S704


def _number(report: RoundReport, metric: str) -> dict[str, str]:
    """Give what stands of a metric in large letters."""
    number = {"metric": metric, "limit": limit_signs(report, metric)}
    row = best_row(report, metric) or report.shown(metric, "round")
    if row is None or row.point is None:
        return number | {"point": "?", "interval": NOT_ESTIMABLE, "basis": ""}
    basis = f"{BASES[row.basis]}{f', {WHATEVER}' if row.is_worst_case else ''}"
    interval = f"{row.low:.2f} to {row.high:.2f}"
    return number | {"point": f"{row.point:.2f}", "interval": interval, "basis": basis}
