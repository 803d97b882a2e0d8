"""Notices: messages sent to people at once, by hooks and the log."""

from __future__ import annotations

from datetime import datetime

from monitor.domain.setting_types import Report


class Notice(Report):
    """The payload of a message to hooks and the log, ready for JSON.

    ``id`` is stable: a notice that arrives twice has the same id and content. ``event`` is
    ``alert.firing``, ``.resolved`` or ``.revised``, ``round.abandoned`` or ``.attention``,
    ``delivery.dead`` or ``.recovered`` (of ``sink``), ``test``, or, in the log only, ``notice.``
    and the kind of a `monitor.domain.report.NoticeRow`. ``alert`` is the id of the alert, ``since``
    the time when it fired. ``promise`` states how often such a notice may be false.
    """

    id: str
    event: str
    store_id: str
    round_key: str
    monitor: str
    round: int
    slot: datetime
    metric: str | None = None
    side: str | None = None
    limit: float | None = None
    point: float | None = None
    low: float | None = None
    high: float | None = None
    false_alarm_every: float | None = None
    model: str | None = None
    sentence: str
    at: datetime | None = None
    alert: str | None = None
    since: datetime | None = None
    sink: str | None = None
    to_do: str | None = None
    link: str | None = None
    window_start: datetime | None = None
    window_end: datetime | None = None
    promise: str | None = None
