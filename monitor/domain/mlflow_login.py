"""Plain HTTP to MLflow's server with the credentials and certificates of MLflow's own variables."""

from __future__ import annotations

import configparser
import os
import ssl
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 3


def http_client(seconds: float) -> httpx.Client:
    """Make a client whose requests take that long at most, each part of them."""
    import httpx  # noqa: PLC0415  0.1 s, needed only where MLflow is asked

    return httpx.Client(
        auth=basic(),
        headers={} if basic() else bearer(),
        timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
        verify=_trust(*map(os.environ.get, _TRUST)),
    )


_TRUST = (
    "MLFLOW_TRACKING_INSECURE_TLS",
    "MLFLOW_TRACKING_SERVER_CERT_PATH",
    "MLFLOW_TRACKING_CLIENT_CERT_PATH",
)


@cache
def _trust(insecure: str | None, authority: str | None, certificate: str | None) -> ssl.SSLContext:
    """Build the TLS context that MLflow's variables ask for; loading certificates takes a while."""
    import httpx  # noqa: PLC0415

    context = ssl.create_default_context(cafile=authority) if authority else None
    if context is None:
        context = httpx.create_ssl_context(verify=(insecure or "").lower() not in {"true", "1"})
    if certificate:
        context.load_cert_chain(certificate)
    return context


def basic() -> tuple[str, str] | None:
    """User and password as MLflow's client takes them: of the environment, else of its file."""
    stored = _stored_credentials()
    pair = [
        os.environ.get(f"MLFLOW_TRACKING_{name}")
        or stored.get(f"mlflow_tracking_{name.lower()}", "")
        for name in ("USERNAME", "PASSWORD")
    ]
    return (pair[0], pair[1]) if all(pair) else None


def _stored_credentials() -> Mapping[str, str]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(Path("~/.mlflow/credentials").expanduser(), encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError, OSError, RuntimeError):
        return {}
    return dict(parser["mlflow"]) if "mlflow" in parser else {}


def secrets() -> list[str]:
    """Collect the credentials, which no message may repeat."""
    pair = basic()
    token = os.environ.get("MLFLOW_TRACKING_TOKEN", "")
    return [one for one in ((pair or ("", ""))[1], token) if one.strip()]


def bearer() -> dict[str, str]:
    """Return the token of the environment as a header; empty without one."""
    token = os.environ.get("MLFLOW_TRACKING_TOKEN", "").strip()  # a file of it ends its line
    return {"authorization": f"Bearer {token}"} if token else {}
