"""A hook that sends open alerts to Prometheus' Alertmanager.

Grouping, silences, inhibition and repeats are Alertmanager's. It keeps alerts in memory, and ends
those whose ``endsAt`` passes. So an open alert gets an end far away, which ours replaces when the
alert ends; and it is posted again at every pass, so that a restarted Alertmanager gets it too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from monitor.domain.adapters import Adapter, HookSettings
from monitor.domain.errors import SettingRefused
from monitor.domain.model import Effect
from monitor.domain.notice import Notice
from monitor.domain.setting_types import Duration
from monitor.domain.visible import clean
from monitor.hooks.context import HookContext, read_notice
from monitor.hooks.receiver import HeaderSecret, Receiver, Timeout, check_url

_PATH = "/api/v2/alerts"
_NAMES = {
    "alert": "PrMonitorLimit",
    "round": "PrMonitorNoEstimate",
    "round.attention": "PrMonitorAttention",
    "delivery": "PrMonitorDelivery",
    "test": "PrMonitorTest",
}
_ENDED = {"alert.resolved", "alert.revised", "delivery.recovered"}
_LASTS = {
    "test": timedelta(minutes=5),
    "round.abandoned": timedelta(days=1),
    "round.attention": timedelta(days=1),
}
_OURS = frozenset({"alertname", "monitor", "metric", "side", "hook"})
_FIGURES = ("event", "round", "limit", "point", "low", "high", "false_alarm_every", "model")


def _label(name: str) -> str:
    if re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name, re.ASCII) is None:
        message = f"{name!r} is no name of a label; letters, digits and '_' make one"
        raise ValueError(message)
    return name


_Label = Annotated[str, AfterValidator(_label)]


class AlertmanagerSettings(HookSettings):
    """One Alertmanager, 0.16 or newer; of a cluster make one hook for each member.

    ``url`` is its address, without ``/api/v2/alerts``. ``authorization`` is sent as the header of
    that name, such as ``Bearer ...``, where a proxy in front of it asks for one. ``labels`` are
    added to ours (``alertname``, ``monitor``, ``metric``, ``side``, ``hook``) for its routes.
    ``hold`` is how long an open alert stays when nothing is heard from the monitor.
    ``allow_private`` lets the address be in a private network and use plain http.
    """

    kind: Literal["alertmanager"] = "alertmanager"
    url: str
    authorization: HeaderSecret | None = None
    labels: dict[_Label, str] = Field(default_factory=dict)
    hold: Annotated[Duration, Field(ge=timedelta(hours=1))] = timedelta(days=7)
    allow_private: bool = False
    timeout: Timeout = timedelta(seconds=10)  # for the whole delivery

    @field_validator("labels")
    @classmethod
    def _not_ours(cls, value: dict[str, str]) -> dict[str, str]:
        taken = sorted(_OURS & set(value))
        if taken:
            message = f"{', '.join(taken)} is set by the monitor itself; use another name"
            raise SettingRefused(setting="labels", why=message)
        return value

    @model_validator(mode="after")
    def _a_url_that_can_be_posted_to(self) -> AlertmanagerSettings:
        check_url(self.url, allow_private=self.allow_private)
        return self


class AlertmanagerHandler:
    """Post alerts; safe to repeat, since equal labels are one alert."""

    def __init__(self, settings: AlertmanagerSettings, context: HookContext) -> None:
        self._settings = settings
        self._context = context
        self._receiver = Receiver(
            hook=context.name,
            url=settings.url.rstrip("/").removesuffix(_PATH) + _PATH,
            allow_private=settings.allow_private,
            timeout=settings.timeout,
            repeats=True,
        )

    def deliver(self, effect: Effect) -> str:
        """Post the alert of a notice, open or ended."""
        return f"HTTP {self._post([effect.payload])}"

    def keep(self, notices: Sequence[Mapping[str, Any]]) -> None:
        """Post alerts that Alertmanager got before, should it have lost them."""
        self._post(notices)

    def _post(self, payloads: Sequence[Mapping[str, Any]]) -> int:
        from monitor.hooks.posting import post  # noqa: PLC0415  only needed when something happens

        secret = self._settings.authorization
        headers = {} if secret is None else {"authorization": secret.get_secret_value()}
        notices = [read_notice(payload, self._context.link) for payload in payloads]
        alerts = [as_alert(notice, self._settings, self._context.clock()) for notice in notices]
        return post(self._receiver, headers, json.dumps(alerts, allow_nan=False))


def as_alert(notice: Notice, settings: AlertmanagerSettings, now: datetime) -> dict[str, Any]:
    """Write a notice as API v2 wants it.

    What opens and what ends an alert give the same labels, by which Alertmanager identifies it.
    """
    start, end = _span(notice, settings, now)
    alert = {
        "labels": settings.labels | _labels(notice),
        "annotations": _annotations(notice),
        "startsAt": start.astimezone(UTC).isoformat(),
        "endsAt": end.astimezone(UTC).isoformat(),
    }
    return alert if notice.link is None else {**alert, "generatorURL": notice.link}


def _span(
    notice: Notice, settings: AlertmanagerSettings, now: datetime
) -> tuple[datetime, datetime]:
    at = notice.at or notice.slot
    if notice.event in _ENDED:
        end = min(at, now)  # one in the future, by a clock that is ahead, would leave it open
        return min(notice.since or end, end), end
    return min(at, now), now + _LASTS.get(notice.event, settings.hold)


def _labels(notice: Notice) -> dict[str, str]:
    """Give labels that stay the same while an alert is open; none is empty."""
    kind = notice.event.partition(".")[0]
    hook = {"alertname": _NAMES.get(notice.event) or _NAMES.get(kind, "PrMonitor")}
    if kind == "delivery":
        return hook | {"hook": clean(notice.sink or "", 200)}
    labels = {"monitor": notice.monitor, "metric": notice.metric, "side": notice.side}
    return hook | {name: clean(text, 200) for name, text in labels.items() if text}


def _annotations(notice: Notice) -> dict[str, str]:
    figures = notice.model_dump(include=set(_FIGURES), exclude_none=True)
    texts = {
        "summary": notice.sentence,
        "description": " ".join(filter(None, [notice.to_do, notice.promise])),
        "id": notice.id,
        **{
            name: f"{value:g}" if isinstance(value, float) else str(value)
            for name, value in figures.items()
        },
    }
    by_name = {name: clean(text) for name, text in texts.items() if text}
    return by_name if notice.link is None else {**by_name, "link": notice.link}


ADAPTER = Adapter(AlertmanagerSettings, AlertmanagerHandler)
