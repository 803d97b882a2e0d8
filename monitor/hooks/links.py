"""Reading a notice from an effect, with the link to MLflow put in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from monitor.domain.notice import Notice

Link = Callable[[Notice], str | None]
"""Finds where the round of a notice shows in MLflow; None where there is no page."""


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
