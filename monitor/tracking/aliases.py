"""Read which version of a registered model an alias names."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from monitor.domain.errors import DeliveryFailed
from monitor.domain.registered import NAMES_NONE, alias_of
from monitor.files.sqlite_address import absolute_address, sqlite_path
from monitor.tracking.connection import CALL_SECONDS, DATABASES, SparingReads, shown

if TYPE_CHECKING:
    from monitor.tracking.mlflow import MlflowSettings

_READABLE = {"http", "https", "sqlite", *DATABASES}


class MlflowAliases:
    """The aliases of one registry; a relative SQLite path begins at ``base_folder``."""

    def __init__(self, settings: MlflowSettings, base_folder: Path = Path()) -> None:
        elsewhere = settings.registry_uri or os.environ.get("MLFLOW_REGISTRY_URI")
        self._uri = absolute_address(elsewhere or settings.tracking_uri, base_folder)
        seconds = min(settings.timeout.total_seconds(), CALL_SECONDS)
        self._connection = SparingReads(_with_limits(self._uri, seconds), seconds)

    def version_of(self, model: str) -> str | None:
        """Return the version that a URI such as ``models:/mail@champion`` names, or None.

        Raises `DeliveryFailed` if MLflow does not answer, or did not within the last minute.
        """
        alias = alias_of(model)
        if alias is None:
            return None
        if urlsplit(self._uri).scheme.partition("+")[0] not in _READABLE:
            why = "aliases of a server or a database are read; name a version in `model`"
            raise self._no_answer(why)
        path = sqlite_path(self._uri)
        if path is not None and not path.is_file():  # connecting would make one
            why = "there is no such file yet"
            raise self._no_answer(why)
        requested = f"reading alias {alias.alias!r} of model {alias.model!r}"
        with self._connection.open(requested) as client:
            from mlflow.exceptions import MlflowException  # noqa: PLC0415  takes 2.8 s

            try:
                version = client.get_model_version_by_alias(alias.model, alias.alias).version
                return str(version) if version else None
            except MlflowException as error:
                if error.error_code in NAMES_NONE:
                    return None
                raise

    def _no_answer(self, why: str) -> DeliveryFailed:
        return DeliveryFailed(f"MLflow at {shown(self._uri)} did not answer ({why})", lasting=True)


def _with_limits(uri: str, seconds: float) -> str:
    """Add timeouts to a database's URI, for which MLflow has no setting."""
    scheme, _, driver = urlsplit(uri).scheme.partition("+")
    if scheme == "postgresql":
        options = f"-c statement_timeout={math.ceil(seconds * 1000)}"
        limits = {"connect_timeout": str(math.ceil(seconds)), "options": options}
    elif scheme == "mysql" and driver in {"", "pymysql", "mysqldb"}:
        limits = dict.fromkeys(("connect_timeout", "read_timeout"), str(math.ceil(seconds)))
    else:
        return uri
    from sqlalchemy import make_url  # noqa: PLC0415  only for databases

    return make_url(uri).update_query_dict(limits).render_as_string(hide_password=False)
