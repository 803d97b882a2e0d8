"""What a handler may need besides the settings of its hook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.domain.notice import Notice

if TYPE_CHECKING:
    from monitor.domain.ports import Clock

Link = Callable[[Notice], str | None]
"""Finds where the round of a notice shows in MLflow; None where there is no page."""


@dataclass(frozen=True, slots=True)
class HookContext:
    """Where a hook is in the config, and what all hooks share.

    name: Of the hook in the config, for errors.
    folder: Of the config file; paths are relative to it.
    clock, link: The present time, and where a notice's round shows in MLflow.
    """

    name: str
    folder: Path
    clock: Clock
    link: Link


def no_link(_: Notice) -> None:
    """Find nothing: MLflow is not served to browsers."""


def read_notice(payload: Mapping[str, Any], link: Link = no_link) -> Notice:
    """Read a notice.

    The link is made when the notice is first delivered, since MLflow may have moved meanwhile, and
    stays with it: an empty one records that there was none. Then what is sent again is the same.
    """
    notice = Notice.model_validate(dict(payload))
    if notice.link is not None:
        return notice.model_copy(update={"link": notice.link or None})
    return notice.model_copy(update={"link": link(notice)})
