"""Tasks as traces of MLflow: what its review view shows, and nothing that would tell the answer.

They are posted as OpenTelemetry spans in JSON (`/v1/traces`), under ids that follow from the task,
so that posting them again makes no second one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from monitor.domain.model import Task
from monitor.domain.shown import plain_texts
from monitor.domain.visible import visible_lines

ROUND, TASK, QUESTION = "monitor.round", "monitor.task", "monitor.question"
"""Tags of a trace: the store and round it is of, the task's key, and what was asked."""

RETAINED_FIELDS = "monitor.kept"
"""Begins the tags of a trace that keeps what was said of tasks whose own traces are gone."""

LONGEST = 50_000  # Characters of a column; who has to read more answers nothing
BATCH = 300  # Traces in one request
BATCH_TEXT = 4_000_000  # Characters of the texts in one request

_STEERING_MARKDOWN = re.compile(r"(?i)[\\`*_\[\]<>&~|$@]|:(?=//)|(?<=\bwww)\.")
"""The last two begin what becomes a link by itself, in which no other escape would be read."""

_AT_LINE_START = re.compile(r"(?m)^([ \t]*)(?:([#+=-])|(\d+)([.)]))")
_INDENT = re.compile(r"(?m)^[ \t]+")


def trace_id(*parts: str) -> str:
    """Id of the trace of a task, or of a round: an MD5, which also gives a random order."""
    return f"tr-{hashlib.md5('|'.join(parts).encode(), usedforsecurity=False).hexdigest()}"


def trace(id_: str, shown: str, tags: Mapping[str, str], now: datetime) -> dict[str, Any]:
    """Make the span that is all of a trace.

    Its time is when it is posted, and a fraction that follows from the id: the view sorts by it.
    """
    at = str(int(now.timestamp()) * 10**9 + int(id_[3:11], 16) % 10**9)
    inputs = {"messages": [{"role": "user", "content": shown}]} if shown else {}
    texts = {
        "mlflow.spanInputs": json.dumps(inputs, ensure_ascii=False),
        **{f"mlflow.traceTag.{name}": value for name, value in tags.items()},
    }
    return {
        "traceId": id_.removeprefix("tr-"),
        "spanId": id_[3:19],
        "name": "item",
        "startTimeUnixNano": at,
        "endTimeUnixNano": at,
        "status": {"code": 1},
        "attributes": [
            {"key": name, "value": {"stringValue": value}} for name, value in texts.items()
        ],
    }


def message_of(task: Task) -> str:
    """Write what people see of a task as Markdown, which is how the view reads it.

    Every kind is written as text.
    """
    shown = {name: _text(text) for name, text in plain_texts(task.shown).items()}
    if len(shown) == 1:
        return next(iter(shown.values()))
    return "\n\n".join(f"**{as_markdown(name)}**\n\n{text}" for name, text in shown.items())


def _text(value: str) -> str:
    if not value.strip():
        return "*(nothing to show)*"
    cut = value[:LONGEST]
    more = len(value) - len(cut)
    return as_markdown(cut) + (f"\n\n*(cut here; {more:,} more characters)*" if more else "")


def as_markdown(text: str) -> str:
    r"""Write a text so that Markdown shows it as it is: no format, picture, HTML or heading.

    A picture in a mail would be loaded, and so tell its sender that somebody reads it.

    >>> print(as_markdown("![a](http://b/c.png) <b>*d*</b>"))
    !\[a\](http\://b/c.png) \<b\>\*d\*\</b\>
    >>> print(as_markdown("# one"))
    \# one
    """
    plain = re.sub(r"\r\n?", "\n", visible_lines(text)).strip("\n")
    plain = _STEERING_MARKDOWN.sub(lambda match: "\\" + match[0], plain)
    plain = _AT_LINE_START.sub(_escaped_start, plain)
    plain = _INDENT.sub(lambda match: "\u00a0" * len(match[0].expandtabs(4)), plain)
    return plain.replace("\n", "  \n")


def _escaped_start(match: re.Match[str]) -> str:
    indent, sign, number, dot = match.groups()
    return f"{indent}\\{sign}" if sign else f"{indent}{number}\\{dot}"
