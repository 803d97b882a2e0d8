"""Which version of a registered model an alias names, asked without MLflow's library.

A server is asked by plain HTTP. Any other registry needs the library, which takes 150 MB and never
returns them: `monitor.tracking.alias_process` asks it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
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

COMMAND = (sys.executable, "-P", "-m", "monitor.tracking.alias_process")
PROCESS_SECONDS = 60
PAUSE = 60.0
"""Seconds for which a registry that did not answer is left alone: no round waits for it twice."""

_PATH = "/api/2.0/mlflow/registered-models/alias"
_OK, _SERVER_FAULT = 200, 500
_DENIED, _PASSING = frozenset({401, 403}), frozenset({408, 429})
_HINT = (
    "; set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, for a "
    "user who may READ the model"
)
_LONGEST = 400  # characters of what was answered


class AliasRefused(RegistryUnavailable):
    """The registry answers, but does not tell of this model."""


class MlflowAliases:
    """The aliases of one registry; a relative SQLite path begins at ``base_folder``."""

    def __init__(self, settings: MlflowSettings, base_folder: Path = Path()) -> None:
        elsewhere = settings.registry_uri or os.environ.get("MLFLOW_REGISTRY_URI")
        self._uri = absolute_address(elsewhere or settings.tracking_uri, base_folder)
        self._seconds = min(settings.timeout.total_seconds(), CALL_SECONDS)
        self.is_cheap = self._uri.startswith(("http://", "https://"))
        self._failed: tuple[float, RegistryUnavailable] | None = None

    def version_of(self, model: str) -> str | None:
        """Find which version a URI such as ``models:/mail@champion`` names; None: it names none.

        Raises `RegistryUnavailable` if there is no answer, or was none just now.
        """
        alias = alias_of(model)
        if alias is None:
            return None
        if self._failed is not None and time.monotonic() < self._failed[0] + PAUSE:
            raise self._failed[1]
        try:
            result = self._ask_server(alias) if self.is_cheap else self._ask_process(model)
        except AliasRefused:  # of this model; another may be asked
            raise
        except RegistryUnavailable as error:
            self._failed = time.monotonic(), error
            raise
        self._failed = None
        return result

    def _ask_server(self, alias: Alias) -> str | None:
        import httpx  # noqa: PLC0415  0.1 s, needed only where MLflow is asked

        params = {"name": alias.model, "alias": alias.alias}
        try:
            with outside("mlflow alias"), http_client(self._seconds) as client:
                response = client.get(f"{self._uri.rstrip('/')}{_PATH}", params=params)
        except (httpx.LocalProtocolError, UnicodeError) as error:  # its text holds the token
            why = "MLFLOW_TRACKING_TOKEN or another credential holds what no header may"
            raise self._no_answer(why) from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise self._no_answer(str(error) or type(error).__name__) from error
        answer = _as_json(response.text)
        named = answer.get("model_version")
        if response.status_code == _OK and isinstance(named, dict) and "version" in named:
            return str(named["version"])
        if answer.get("error_code") in NAMES_NONE:
            return None
        why = str(answer.get("message") or f"it answers {response.status_code}")
        hint = _HINT if response.status_code in _DENIED else ""
        refused = self._no_answer(why + hint)
        if response.status_code in _PASSING or response.status_code >= _SERVER_FAULT:
            raise refused
        raise AliasRefused(str(refused))

    def _ask_process(self, model: str) -> str | None:
        path = sqlite_path(self._uri)
        if path is not None and not path.is_file():  # looking into it would make one
            why = "there is no such file yet"
            raise self._no_answer(why)
        task = json.dumps({"registry": self._uri, "model": model, "seconds": self._seconds})
        try:
            with outside("mlflow alias"):
                done = subprocess.run(  # noqa: S603  nothing of it comes from outside
                    COMMAND,
                    input=task,
                    capture_output=True,
                    encoding="utf-8",
                    timeout=PROCESS_SECONDS,
                    check=False,
                    env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self._no_answer(str(error)) from error
        answer = _as_json("".join(done.stdout.splitlines()[-1:]))
        if "version" not in answer:
            why = str(
                answer.get("why") or f"the process that asked it ended with {done.returncode}"
            )
            raise self._no_answer(why)
        version = answer["version"]
        return None if version is None else str(version)

    def _no_answer(self, why: str) -> RegistryUnavailable:
        location = shown(self._uri)
        message = (
            f"MLflow at {location} does not tell ({visible(masked(why, secrets()))[:_LONGEST]})"
        )
        return RegistryUnavailable(message)


def _as_json(text: str) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}
