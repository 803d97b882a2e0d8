"""What a handler may need besides the settings of its hook, and how it reads and words a notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.domain.errors import DeliveryFailed
from monitor.domain.notice import Notice
from monitor.domain.ports import Clock, utc_now
from monitor.domain.visible import clean

Link = Callable[[Notice], str | None]
"""Finds where the round of a notice shows in MLflow; None where there is no page."""


def no_link(_: Notice) -> None:
    """Find nothing: MLflow is not served to browsers."""


@dataclass(frozen=True, slots=True)
class HookContext:
    """Where a hook is in the config, and what all hooks share.

    name: Of the hook in the config, for errors.
    folder: Of the config file; paths are relative to it.
    clock, link: The present time, and where a notice's round shows in MLflow.
    """

    name: str
    folder: Path = Path()
    clock: Clock = utc_now
    link: Link = no_link

    def refused(self, reason: str) -> DeliveryFailed:
        """Make the error of a hook that can take no notice as it is set up."""
        return DeliveryFailed(f"hook {self.name}: {reason}", lasting=True)


def read_notice(payload: Mapping[str, Any], link: Link) -> Notice:
    """Read a notice.

    The link is made when the notice is first delivered, since MLflow may have moved meanwhile, and
    stays with it: an empty one records that there was none. Then what is sent again is the same.
    """
    notice = Notice.model_validate(dict(payload))
    if notice.link is not None:
        return notice.model_copy(update={"link": notice.link or None})
    return notice.model_copy(update={"link": link(notice)})


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
