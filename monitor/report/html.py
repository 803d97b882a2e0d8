"""The report of a round as one HTML file that asks nobody for anything and runs nothing.

It holds its style and its figures. Names, values and reasons come from data that strangers may
write, so every text is escaped, and the file forbids anything that escaping might miss: scripts,
other styles, and all addresses (a content security policy in its head).
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from monitor.domain.visible import clean
from monitor.presentation.method_sentences import method_sentences
from monitor.presentation.numbers import capital, minute_text
from monitor.presentation.outcome import (
    meaning_sentences,
    to_do_sentences,
    verdict_sentence,
    window_text,
)
from monitor.presentation.restatements import restated_lines
from monitor.presentation.round_document import facts, next_round_section, round_sections
from monitor.report.sections import figures_of, key_numbers

if TYPE_CHECKING:
    from jinja2 import Environment

    from monitor.domain.report import RoundReport

FILE = "report.html"
_FOLDER = Path(__file__).parent / "templates"
_LONGEST = 400  # characters of one text


def report_html(report: RoundReport) -> bytes:
    """Write the report of a round; the same report always gives the same bytes."""
    text = (
        _environment()
        .get_template(FILE)
        .render(
            report=report,
            policy=policy(),
            style=Markup(_style()),  # noqa: S704  our own file
            window=window_text(report),
            due=minute_text(report.slot),
            verdict=verdict_sentence(report),
            to_do=to_do_sentences(report),
            meaning=meaning_sentences(report),
            numbers=key_numbers(report),
            restated=restated_lines(report.restated),
            sections=round_sections(report),
            next_round=next_round_section(report),
            method=method_sentences(report),
            facts=facts(report),
            **figures_of(report),
        )
    )
    return text.encode()


@lru_cache(maxsize=1)
def policy() -> str:
    """Forbid everything but the style that the file holds, known by its digest."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@lru_cache(maxsize=1)
def _style() -> str:
    return (_FOLDER / "report.css").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  takes 60 ms

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
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
