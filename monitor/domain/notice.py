"""What people are told at once, by hooks and the log: the payload of a notice, JSON-ready."""

from __future__ import annotations

from datetime import datetime

from monitor.domain.setting_types import Report


class Notice(Report):
    """Something people should know now; goes to hooks and to the log.

    ``id`` is stable: a notice that arrives twice carries it twice. ``event`` is one of
    ``alert.firing``, ``alert.resolved``, ``alert.revised``, ``round.abandoned``,
    ``round.attention`` (something about it needs a look, though it goes on), ``delivery.dead``
    and ``delivery.recovered`` (of ``sink``, which takes nothing, or does again),
    ``test``, or, in the log only, ``notice.`` and the kind of a
    :class:`~monitor.domain.report.NoticeRow`.

    ``at`` is when it happened; ``alert`` and ``since`` are the id of the alert and when it fired.
    ``window_start`` and ``window_end`` are the time of the predictions that the round looked at.
    ``to_do`` is what helps, ``promise`` how often such a notice may be false.
    ``link`` leads to the round in MLflow; it is put in when the notice is first delivered, so that
    one ``id`` always comes with the same content.
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
