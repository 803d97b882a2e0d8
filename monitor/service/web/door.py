"""Who is let in: requests for a name of this machine.

A page in somebody's browser may point a name of its own at this machine (DNS rebinding) and read
the answers. It cannot make the browser ask for `localhost` or an address instead of that name.
"""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from urllib.parse import urlsplit


def is_ours(asked: str, listen: str) -> bool:
    """Whether a request is for this machine; one without a host is of no browser.

    Parameters
    ----------
    asked
        The header ``Host``, empty where there is none.
    listen
        The address that the config names.
    """
    host = None
    with suppress(ValueError):
        host = urlsplit(f"//{asked}").hostname
    if host in {"localhost", listen}:
        return True
    try:
        return not asked or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False
