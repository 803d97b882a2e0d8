"""Who is let in: requests for a name of this machine.

A page in somebody's browser may point its own name at this machine (DNS rebinding) and read
the answers. It cannot make the browser ask for `localhost` or an address instead of that name.
"""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from urllib.parse import urlsplit


def is_ours(host_header: str, listen: str) -> bool:
    """Whether a request is for this machine; one without a host comes from no browser."""
    name = host_name(host_header)
    if name in {"localhost", listen}:
        return True
    try:
        return not host_header or ipaddress.ip_address(name or "").is_loopback
    except ValueError:
        return False


def host_name(host_header: str) -> str | None:
    """Read the name in a header ``Host``, without its port; None without one.

    >>> host_name("Labels.example.org:8443"), host_name("[::1]:80"), host_name("")
    ('labels.example.org', '::1', None)
    """
    with suppress(ValueError):
        return urlsplit(f"//{host_header}").hostname
    return None
