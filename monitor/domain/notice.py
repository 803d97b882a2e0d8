"""What people are told at once, by hooks and the log: the payload of a notice, JSON-ready."""

from __future__ import annotations

from datetime import datetime

from monitor.domain.setting_types import Report


class Notice(Report):
    """Something people should know now; goes to hooks and to the log.

    ``id`` is stable: a notice that arrives twice carries it twice, with the same content. ``event``
    is ``alert.firing``, ``.resolved`` or ``.revised``, ``round.abandoned`` or ``.attention``,
    ``delivery.dead`` or ``.recovered`` (of ``sink``), ``test``, or, in the log only, ``notice.``
    and the kind of a `monitor.domain.report.NoticeRow`. ``alert`` and ``since`` are the id of the
    alert and when it fired. ``promise`` is how often such a notice may be false.
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
