"""Entry point of the login by the accounts of an MLflow server."""

from __future__ import annotations

from typing import Any

from monitor.domain.adapters import Accounts, Adapter, LoginSite
from monitor.plugins.mlflow_login.settings import MlflowLoginSettings


def _make(settings: Any, site: LoginSite) -> Accounts:
    # httpx takes 0.1 s to import, and reading a config does without it.
    from monitor.plugins.mlflow_login.accounts import MlflowAccounts  # noqa: PLC0415

    return MlflowAccounts(site.tracking_uri, settings)


ADAPTER = Adapter(MlflowLoginSettings, _make)
