"""Read which version of a registered model an alias names, without MLflow's library."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.domain.crashpoint import outside
from monitor.domain.errors import RegistryUnavailable
from monitor.domain.masking import masked
from monitor.domain.mlflow_login import http_client, secrets
from monitor.domain.registered import NAMES_NONE, Alias, alias_of
from monitor.domain.visible import visible
from monitor.files.sqlite_address import absolute_address, sqlite_path
from monitor.tracking.connection import CALL_SECONDS, shown

if TYPE_CHECKING:
    from monitor.tracking.mlflow import MlflowSettings

PAUSE = 60.0
"""Seconds for which an MLflow that did not answer is left alone."""

_PATH = "/api/2.0/mlflow/registered-models/alias"
_OK, _DENIED = 200, frozenset({401, 403})
_HINT = (
    "; set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, for a "
    "user who may READ the model"
)
_STATEMENT_LIMIT = "select set_config('statement_timeout', :milliseconds, true)"
_QUERY = "select version from registered_model_aliases where name = :model and alias = :alias"
_LIMITS = {
    **dict.fromkeys(("psycopg", "psycopg2", "mysqlconnector"), ("connect_timeout",)),
    **dict.fromkeys(("pymysql", "mysqldb"), ("connect_timeout", "read_timeout")),
}
"""Arguments of each driver that limit its waiting, in seconds."""

_LONGEST = 400  # characters of an answer


class MlflowAliases:
    """The aliases of one registry; a relative SQLite path begins at ``base_folder``."""

    def __init__(self, settings: MlflowSettings, base_folder: Path = Path()) -> None:
        elsewhere = settings.registry_uri or os.environ.get("MLFLOW_REGISTRY_URI")
        self._uri = absolute_address(elsewhere or settings.tracking_uri, base_folder)
        self._seconds = min(settings.timeout.total_seconds(), CALL_SECONDS)
        self._failed: tuple[float, RegistryUnavailable] | None = None

    def version_of(self, model: str) -> str | None:
        """Return the version that a URI such as ``models:/mail@champion`` names; None for none.

        Raises `RegistryUnavailable` if there is no answer, or was none less than `PAUSE` ago.
        """
        alias = alias_of(model)
        if alias is None:
            return None
        if self._failed is not None and time.monotonic() < self._failed[0] + PAUSE:
            raise self._failed[1]
        is_server = self._uri.startswith(("http://", "https://"))
        return self._from_server(alias) if is_server else self._from_database(alias)

    def _from_server(self, alias: Alias) -> str | None:
        import httpx  # noqa: PLC0415  0.1 s, needed only where MLflow is asked

        params = {"name": alias.model, "alias": alias.alias}
        try:
            with outside("mlflow alias"), http_client(self._seconds) as client:
                response = client.get(f"{self._uri.rstrip('/')}{_PATH}", params=params)
        except (httpx.LocalProtocolError, UnicodeError) as error:  # its text holds the token
            why = "MLFLOW_TRACKING_TOKEN or another credential contains what no header may have"
            raise self._no_answer(why) from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise self._failure(str(error) or type(error).__name__) from error
        answer = _as_json(response.text)
        named = answer.get("model_version")
        if response.status_code == _OK and isinstance(named, dict) and "version" in named:
            return str(named["version"])
        if answer.get("error_code") in NAMES_NONE:
            return None
        why = str(answer.get("message") or f"it answers {response.status_code}")
        hint = _HINT if response.status_code in _DENIED else ""
        raise self._no_answer(why + hint)

    def _from_database(self, alias: Alias) -> str | None:
        from sqlalchemy import NullPool, create_engine, make_url, text  # noqa: PLC0415
        from sqlalchemy.exc import ArgumentError, SQLAlchemyError  # noqa: PLC0415

        path = sqlite_path(self._uri)
        if path is not None and not path.is_file():  # connecting would make one
            why = "there is no such file yet"
            raise self._no_answer(why)
        try:
            driver = make_url(self._uri).get_driver_name()
            limits = dict.fromkeys(_LIMITS.get(driver, ()), math.ceil(self._seconds))
            engine = create_engine(self._uri, poolclass=NullPool, connect_args=limits)
            with outside("mlflow alias"), engine.connect() as connection:
                if engine.dialect.name == "postgresql":
                    limit = {"milliseconds": str(math.ceil(self._seconds * 1000))}
                    connection.execute(text(_STATEMENT_LIMIT), limit)
                names = {"model": alias.model, "alias": alias.alias}
                versions = set(connection.scalars(text(_QUERY), names))
        except ArgumentError as error:
            why = "aliases of a server or a database are read; name a version in `model`"
            raise self._no_answer(why) from error
        except (SQLAlchemyError, ImportError) as error:
            raise self._failure(str(error).partition("[SQL:")[0]) from error
        if len(versions) > 1:
            why = f"several workspaces have a model {alias.model}"
            raise self._no_answer(why)
        return str(versions.pop()) if versions else None

    def _failure(self, why: str) -> RegistryUnavailable:
        """Remember that nothing answers, so that no other model waits for it."""
        self._failed = time.monotonic(), self._no_answer(why)
        return self._failed[1]

    def _no_answer(self, why: str) -> RegistryUnavailable:
        text = visible(masked(why.strip(), secrets()))[:_LONGEST]
        return RegistryUnavailable(f"MLflow at {shown(self._uri)} did not answer ({text})")


def _as_json(text: str) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}
