"""Connections that refuse private addresses, checked on the peer before a byte is sent.

Looking a name up first and connecting later leaves a gap in which the name may point elsewhere;
the address of an open connection does not change.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import httpcore

if TYPE_CHECKING:
    import ssl

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL = ipaddress.ip_network("2000::/3")
"""All that IANA gives out. Outside of it stand ``::127.0.0.1``, site-local addresses and
translations, which Python's tables call global."""


class AddressRefused(Exception):
    """The peer's address is not public."""


def is_public(address: str) -> bool:
    """Whether an address is reachable by anyone, looking into embedded IPv4 addresses.

    >>> is_public("93.184.215.14"), is_public("10.0.0.1"), is_public("::ffff:127.0.0.1")
    (True, False, False)
    """
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if inner is None and parsed in _NAT64:
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if parsed not in _GLOBAL:
            return False
    return parsed.is_global and not parsed.is_multicast


class GuardedBackend(httpcore.NetworkBackend):
    """Opens connections and closes them at once where the peer is private and must not be."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._inner = httpcore.SyncBackend()
        self.end = math.inf

    def end_in(self, seconds: float) -> None:
        """Set when everything ends, however slowly the peer goes on sending."""
        self.end = time.monotonic() + seconds

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect, then check the peer."""
        stream = self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        if self._allow_private:
            return TimedStream(stream, self)
        peer = stream.get_extra_info("server_addr")
        if peer is None or not is_public(str(peer[0])):
            stream.close()
            message = (
                f"{host} leads to {peer[0] if peer else 'an unknown address'}, which is not a "
                "public address; set allow_private: true if the receiver is meant to be there"
            )
            raise AddressRefused(message)
        return TimedStream(stream, self)


class TimedStream(httpcore.NetworkStream):
    """A connection all of whose reading and writing ends when its backend says."""

    def __init__(self, inner: httpcore.NetworkStream, backend: GuardedBackend) -> None:
        self._inner = inner
        self._backend = backend

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what has come."""
        return self._inner.read(max_bytes, self._remaining(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of it."""
        self._inner.write(buffer, self._remaining(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """Go on encrypted."""
        remaining = self._remaining(timeout, httpcore.ConnectTimeout)
        return TimedStream(
            self._inner.start_tls(ssl_context, server_hostname, remaining), self._backend
        )

    def get_extra_info(self, info: str) -> Any:
        """Return a fact about the connection."""
        return self._inner.get_extra_info(info)

    def _remaining(
        self, timeout: float | None, error: type[httpcore.TimeoutException]
    ) -> float | None:
        # One end for all reads: a peer that sends a byte now and then would else hold us for ever.
        remaining = self._backend.end - time.monotonic()
        if remaining <= 0:
            raise error
        return min(remaining, math.inf if timeout is None else timeout)
