"""Settings of the login by the accounts of an MLflow server."""

from __future__ import annotations

import ipaddress
from typing import Literal
from urllib.parse import urlsplit

from pydantic import model_validator

from monitor.domain.adapters import LoginSettings
from monitor.domain.errors import SettingRefused


class MlflowLoginSettings(LoginSettings):
    """Let in those who have an account of the MLflow server, by its password.

    The server is the one at ``mlflow.tracking_uri`` (``mlflow server --app-name basic-auth``).
    Those named in ``admins`` and ``viewers`` have these roles, all others label.
    """

    kind: Literal["mlflow"] = "mlflow"
    admins: tuple[str, ...] = ()
    viewers: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_role_each(self) -> MlflowLoginSettings:
        if both := sorted({*self.admins} & {*self.viewers}):
            message = f"{both[0]!r} is among admins too; everybody has one role"
            raise SettingRefused(setting="viewers", why=message)
        return self

    @property
    def uses_mlflow(self) -> bool:
        """Whether passwords go to the MLflow server of the config: they do."""
        return True

    def why_not_at(self, tracking_uri: str) -> str | None:
        """Describe why no password may be sent there."""
        if takes_passwords(tracking_uri):
            return None
        return (
            "accounts are those of an MLflow server, and no password is sent to one without "
            "encryption; set mlflow.tracking_uri to its https:// address (http:// on this "
            "machine only), or take kind: users"
        )


def takes_passwords(url: str) -> bool:
    """Whether a password may be sent there: encrypted, or to this machine.

    >>> takes_passwords("https://mlflow.example.org"), takes_passwords("http://localhost:5000")
    (True, True)
    >>> takes_passwords("http://mlflow:5000"), takes_passwords("sqlite:///mlflow.db")
    (False, False)
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" or host == "localhost":
        return bool(host) and parts.scheme in {"http", "https"}
    try:
        return parts.scheme == "http" and ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
