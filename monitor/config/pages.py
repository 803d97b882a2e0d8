"""Settings of the addresses that `pr-monitor serve` listens on, and of access to its pages."""

from __future__ import annotations

import ipaddress
import re
from typing import Literal, NamedTuple

from pydantic import field_validator, model_validator

from monitor.domain.errors import SettingRefused
from monitor.domain.setting_types import Settings

_LABEL = r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_HIGHEST_PORT = 65_535


class Address(NamedTuple):
    """An address to listen on."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(text: str) -> Address:
    """Parse ``127.0.0.1:8080`` or ``[::1]:8080``; raises `SettingRefused` for other texts.

    >>> parse_address("[::1]:8080")
    Address(host='::1', port=8080)
    """
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:]+)):(\d{1,5})", text)
    if match is None:
        message = f"{text!r} is not an address; write HOST:PORT, such as 127.0.0.1:8080"
        raise SettingRefused(setting="listen", why=message)
    host, port = match[1] or match[2], int(match[3])
    if not 1 <= port <= _HIGHEST_PORT:
        message = f"there is no port {port}; it lies between 1 and {_HIGHEST_PORT}"
        raise SettingRefused(setting="listen", why=message)
    if host != "localhost":
        try:
            ipaddress.ip_address(host)
        except ValueError:
            message = (
                f"{host!r} is not an IP address of this machine; write 127.0.0.1, [::1] or, where "
                "other machines are let in, 0.0.0.0"
            )
            raise SettingRefused(setting="listen", why=message) from None
    return Address(host, port)


class ListenSettings(Settings):
    """Base class of sections with an address to listen on."""

    listen: str

    @property
    def address(self) -> Address:
        """Host and port."""
        return parse_address(self.listen)


class WebSettings(ListenSettings):
    """Address on which `pr-monitor serve` answers `/health`, `/ready` and `/metrics`.

    Without this section, it does not answer them. The responses contain no secrets and no content
    of items, but names of monitors and their rates, and they need no password. So an address that
    other machines can reach (``0.0.0.0`` in a container) needs ``allow_remote: true``; restrict
    access by a firewall or a network policy.
    """

    allow_remote: bool = False

    @model_validator(mode="after")
    def _reachable(self) -> WebSettings:
        if not self.address.is_loopback and not self.allow_remote:
            message = (
                f"other machines can reach {self.address}, and no password protects "
                "it; write 127.0.0.1, or add allow_remote: true if a firewall does"
            )
            raise SettingRefused(setting="listen", why=message)
        return self


class PagesSettings(ListenSettings):
    """Address on which `pr-monitor serve` serves its status pages and its labeling page.

    Without this section it has no pages; `pr-monitor label` serves the same pages to a browser on
    the same machine. With ``listen`` alone, pages are also only for this machine, and the log has a
    one-time link for each person. The section is independent of `web`.

    Pages that other machines can reach need ``names`` (the host names that browsers use),
    ``login: users``, and an ``https`` proxy in front of them: ``behind_proxy: true``. The proxy's
    headers ``X-Forwarded-For`` and ``X-Forwarded-Proto`` are then trusted, so only the proxy may
    reach the address. ``login: users`` admits the people added to the store by
    `pr-monitor users add`, by their tokens.
    """

    names: tuple[str, ...] = ()
    login: Literal["users"] | None = None
    behind_proxy: bool = False

    @field_validator("login", mode="before")
    @classmethod
    def _by_name(cls, value: object) -> object:
        if isinstance(value, dict):
            why = "write login: users; accounts of an MLflow server can no longer sign in"
            raise SettingRefused(setting="login", why=why)
        return value

    @model_validator(mode="after")
    def _names_are_names(self) -> PagesSettings:
        for name in self.names:
            if not _is_host(name):
                message = (
                    f"{name!r} is not a host name; write "
                    "labels.example.org, without https:// and port"
                )
                raise SettingRefused(setting="names", why=message)
        return self

    @model_validator(mode="after")
    def _guarded_where_reachable(self) -> PagesSettings:
        if not self.is_reachable:
            return self
        who = f"other machines can reach {self.address}"
        if not self.behind_proxy:
            message = (
                f"{who}, and without encryption everyone on the network path can read "
                "passwords and texts; put an https proxy in front of the pages and add "
                f"behind_proxy: true, or write 127.0.0.1:{self.address.port}"
            )
            raise SettingRefused(setting="listen", why=message)
        if self.login is None:
            message = (
                f"{who}, where links in the log do not work; write users, and add people by "
                "pr-monitor users add"
            )
            raise SettingRefused(setting="login", why=message)
        if not self.names:
            message = f"{who}; list the host names that browsers use, such as [labels.example.org]"
            raise SettingRefused(setting="names", why=message)
        return self

    @property
    def is_reachable(self) -> bool:
        """Whether other machines can reach the pages."""
        return self.behind_proxy or not self.address.is_loopback


def _is_host(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return bool(_NAME.fullmatch(name))
    return True
