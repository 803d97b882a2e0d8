"""Where `pr-monitor serve` answers to those who watch it."""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple

from pydantic import model_validator

from monitor.domain.errors import SettingRefused
from monitor.domain.setting_types import Settings

_HIGHEST_PORT = 65_535


class Address(NamedTuple):
    """Where to listen."""

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
    """Read ``127.0.0.1:8080`` or ``[::1]:8080``; a `ValueError` says what is wrong.

    >>> parse_address("[::1]:8080")
    Address(host='::1', port=8080)
    """
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:]+)):(\d{1,5})", text)
    if match is None:
        message = f"{text!r} is no address; write HOST:PORT, such as 127.0.0.1:8080"
        raise SettingRefused(setting="listen", why=message)
    host, port = match[1] or match[2], int(match[3])
    if not 1 <= port <= _HIGHEST_PORT:
        message = f"there is no port {port}; it lies between 1 and {_HIGHEST_PORT}"
        raise SettingRefused(setting="listen", why=message)
    if host != "localhost":
        _refuse_names(host)
    return Address(host, port)


def _refuse_names(host: str) -> None:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        message = (
            f"{host!r} is no IP address of this machine; write 127.0.0.1, [::1] or, where other "
            "machines are let in, 0.0.0.0"
        )
        raise SettingRefused(setting="listen", why=message) from None


class WebSettings(Settings):
    """Where `pr-monitor serve` answers `/health`, `/ready` and `/metrics`.

    Without this section nothing listens. The pages hold no secret and no item's content, but
    they name monitors and show their rates, and they ask for no password. So an address that
    other machines can reach (``0.0.0.0`` in a container) needs ``allow_remote: true``; let a
    firewall or a network policy say who may come.
    """

    listen: str
    allow_remote: bool = False

    @model_validator(mode="after")
    def _reachable(self) -> WebSettings:
        if not self.address.is_loopback and not self.allow_remote:
            message = (
                f"other machines can reach {self.address}, and nothing here asks for a "
                "password; write 127.0.0.1, or add allow_remote: true where a firewall decides"
            )
            raise SettingRefused(setting="listen", why=message)
        return self

    @property
    def address(self) -> Address:
        """Host and port."""
        return parse_address(self.listen)
