"""Whether anything answers where MLflow should be, found out in seconds and without MLflow."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from monitor.domain.ports import utc_now
from monitor.domain.retry_after import retry_after

CONNECT_SECONDS = 3
HEALTH_SECONDS = 5
TOO_MANY, UNAVAILABLE = 429, 503

_PORTS = {"http": 80, "https": 443, "postgresql": 5432, "mysql": 3306, "mssql": 1433}


@dataclass(frozen=True, slots=True)
class Health:
    """What was answered, and for how long anyone who answered wants to be left alone."""

    status: int
    retry_after: timedelta | None


def check_reachable(uri: str) -> None:
    """Connect and hang up; no error where there is nobody to connect to, or only a proxy.

    Raises `OSError` if nothing listens there.
    """
    parts = urlsplit(uri)
    scheme = parts.scheme.partition("+")[0]
    port = parts.port or _PORTS.get(scheme)
    if not parts.hostname or port is None or _by_proxy(scheme, parts.hostname):
        return
    socket.create_connection((parts.hostname, port), CONNECT_SECONDS).close()


def _by_proxy(scheme: str, host: str) -> bool:
    proxies = getproxies()
    return bool(proxies.get(scheme) or proxies.get("all")) and not proxy_bypass(host)


def ask_health(uri: str) -> Health:
    """Ask for ``/health`` once, with MLflow's own credentials and certificates."""
    from mlflow.utils.credentials import get_default_host_creds  # noqa: PLC0415
    from mlflow.utils.rest_utils import http_request  # noqa: PLC0415

    credentials = get_default_host_creds(uri)  # type: ignore[no-untyped-call]
    answer = http_request(  # type: ignore[no-untyped-call]
        credentials,
        "/health",
        "GET",
        timeout=(CONNECT_SECONDS, HEALTH_SECONDS),
        retry_codes=frozenset(),
        raise_on_status=False,
    )
    answers = {name.lower(): value for name, value in answer.headers.items()}
    return Health(int(answer.status_code), retry_after(answers, utc_now()))
