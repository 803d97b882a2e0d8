"""Texts of notices, made safe for wherever they are shown.

Names of columns, reasons and values come from data that strangers may write, so nothing in a text
may steer a terminal, turn the direction of reading, begin its own line or call people.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from monitor.domain.visible import LONGEST, clean

if TYPE_CHECKING:
    from monitor.domain.notice import Notice

__all__ = ["BREAK", "LONGEST", "body", "clean", "disarmed", "title"]

BREAK = "\u200b"  # A zero-width space: taken out by no service, and no part of any name or markup

_CALLS = re.compile(r"@(?=\w)|<(?=[!@#&/A-Za-z])|\](?=\()|(?<=[!&#])(?=\w+>)")
_STATES = {
    "alert.firing": "ALERT",
    "alert.resolved": "resolved",
    "alert.revised": "revised",
    "round.abandoned": "no estimate",
    "round.attention": "needs a look",
    "delivery.dead": "not delivered",
    "delivery.recovered": "delivered again",
    "test": "TEST",
}


def disarmed(text: str) -> str:
    """Break what chat services take for a call, a link in disguise or a tag.

    >>> disarmed("hi @all <!channel> [here](http://x)").replace(BREAK, "|")
    'hi @|all <|!|channel> [here]|(http://x)'
    """
    return _CALLS.sub(lambda match: match[0] + BREAK, text)


def title(notice: Notice) -> str:
    """Describe in a line what a notice is about: ``ALERT: mail-travel, precision``."""
    about = notice.metric or (notice.sink if notice.event.startswith("delivery.") else None)
    names = [name for name in (notice.monitor, about) if name]
    return clean(f"{_STATES.get(notice.event, notice.event)}: {', '.join(names)}", 120)


def body(notice: Notice, safe: Callable[[str], str] = str) -> list[str]:
    """Describe what happened, what to do, where to look and what is promised, a paragraph each.

    ``safe`` is applied to all but the link.
    """
    parts = [safe(clean(notice.sentence))]
    if notice.to_do:
        parts.append(safe(f"What to do: {clean(notice.to_do)}"))
    if notice.link:
        parts.append(f"In MLflow: {notice.link}")
    if notice.promise:
        parts.append(safe(clean(notice.promise)))
    return parts
