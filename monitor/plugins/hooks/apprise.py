"""A hook that notifies one of the services that Apprise supports, by its URL.

https://github.com/caronc/apprise: mail, Slack, Teams, Telegram, PagerDuty and many more. It comes
with the extra ``apprise`` and is loaded when a notice is sent.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Literal

from pydantic import ConfigDict, SecretStr

from monitor.domain.adapters import Adapter, HookSettings
from monitor.domain.errors import DeliveryFailed
from monitor.domain.extras import install_command
from monitor.domain.model import Effect
from monitor.domain.notice import Notice
from monitor.domain.visible import clean
from monitor.hooks.context import HookContext, body, read_notice
from monitor.hooks.receiver import Timeout, may_pass

_TYPES = {"alert.firing": "failure", "alert.resolved": "success", "delivery.recovered": "success"}
_CALM = ("alert.revised", "test")
_STATUS = re.compile(r"error=(\d{3})")
_LOGGERS = ("apprise", "urllib3")  # they write whole addresses, tokens and all, at DEBUG

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


class AppriseSettings(HookSettings):
    """One service, by the URL that Apprise has for it; needs the extra ``apprise``.

    ``url`` holds the service's token, so it is kept as a secret. A hook is one service: what
    another one does not take is then not sent twice to this one.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    kind: Literal["apprise"] = "apprise"
    url: SecretStr
    timeout: Timeout = timedelta(seconds=10)  # for the whole delivery


class AppriseHandler:
    """Send notices as plain text; Apprise fits them to the service.

    Redirects are not followed. Addresses are not checked as a webhook's are, since Apprise opens
    its own connections.
    """

    def __init__(self, settings: AppriseSettings, context: HookContext) -> None:
        self._settings = settings
        self._context = context

    def deliver(self, effect: Effect) -> str:
        """Send the notice; a repeat sends it again, with the same text."""
        notice = read_notice(effect.payload, self._context.link)
        calm = "info" if notice.event in _CALM else "warning"
        with _quiet():
            service, name = self._service()
            result = service.notify(
                title=disarmed(title(notice)),
                body="\n\n".join(body(notice, disarmed)),
                notify_type=_TYPES.get(notice.event, calm),
                body_format="text",
                timeout=self._settings.timeout.total_seconds(),
            )
        if not result:
            raise self._failure(name, result)
        return name

    def usable(self) -> str:
        """Name the service, without sending anything."""
        with _quiet():
            return self._service()[1]

    def _service(self) -> tuple[Any, str]:
        try:
            import apprise  # noqa: PLC0415  an extra, and it takes 0.3 s
        except ModuleNotFoundError as error:
            if error.name != "apprise":
                raise
            reason = f"Apprise is not installed: {install_command('apprise')}"
            raise self._context.refused(reason) from error
        asset = apprise.AppriseAsset(
            app_id="pr-monitor",
            app_desc="mlflow-pr-monitor",
            async_mode=False,
            http_redirects=False,  # else a receiver could lead us into our own network
            storage_mode="memory",  # tokens are not written to disk
        )
        service = apprise.Apprise(asset=asset)
        if not service.add(self._settings.url.get_secret_value()):
            reason = "Apprise does not know its url; see https://appriseit.com for how to write it"
            raise self._context.refused(reason)
        return service, str(service[0].service_name)

    def _failure(self, service: str, result: Any) -> DeliveryFailed:
        """Give the reason, as far as that is possible without showing the URL."""
        logs = " ".join(str(entry) for entry in result.logs())
        not_taken = f"hook {self._context.name}: {service} did not take the notice"
        match = _STATUS.search(logs)
        if match is None:
            slow = result.status.name == "TIMEOUT"
            seconds = self._settings.timeout.total_seconds()
            reason = (
                f"it did not answer within {seconds:g} s" if slow else "it could not be reached"
            )
            return DeliveryFailed(f"{not_taken}: {reason}")
        status = int(match[1])
        passes = may_pass(status)
        sentence = f"{not_taken}: it answered {status}"
        return DeliveryFailed(sentence, sink_down=passes, lasting=not passes)


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


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep to ourselves what Apprise logs: its warnings are in the result."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    previous = [(logger.level, logger.propagate) for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.WARNING)
            logger.propagate = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of what its plugins import
            yield
    finally:
        for logger, (level, propagate) in zip(loggers, previous, strict=True):
            logger.setLevel(level)
            logger.propagate = propagate


ADAPTER = Adapter(AppriseSettings, AppriseHandler)
