"""Requests to MLflow's server by MLflow's library, each made once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from monitor.domain.crashpoint import outside
from monitor.domain.errors import LabelsRefused, LabelsUnavailable
from monitor.domain.masking import masked, secrets_of
from monitor.domain.visible import visible
from monitor.hooks.receiver import json_object, may_pass
from monitor.tracking.connection import load_mlflow, request, secrets, shown

NOT_THERE, THERE_ALREADY = "RESOURCE_DOES_NOT_EXIST", "RESOURCE_ALREADY_EXISTS"

_DENIED = frozenset({401, 403})
_REDIRECT = 300
_LONGEST = 300  # characters of what the server said


class MlflowRefused(LabelsRefused):
    """MLflow answered that it does not do it; ``code`` is MLflow's own word for why."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class MlflowRest:
    """Makes requests to one server."""

    uri: str
    timeout: timedelta  # Of each wait for the server

    @property
    def shown(self) -> str:
        """The address without user and password."""
        return shown(self.uri).rstrip("/")

    def get(self, path: str, **params: str | int) -> dict[str, Any]:
        """Ask for something; raises as `post` does."""
        return self._ask("GET", path, params=params)

    def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Post a body as JSON, and return the answer, which is an empty one where it is not JSON.

        Raises `MlflowRefused` if MLflow does not do it, however often it is asked;
        `LabelsUnavailable` if it does not answer, or not now.
        """
        return self._ask("POST", path, json=body, extra_headers=headers)

    def find(self, path: str, **params: str | int) -> dict[str, Any] | None:
        """Ask for something that may not be there."""
        try:
            return self.get(path, **params)
        except MlflowRefused as error:
            if error.code == NOT_THERE:
                return None
            raise

    def _ask(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        load_mlflow()
        from mlflow.exceptions import MlflowException  # noqa: PLC0415

        try:
            with outside(f"mlflow {path}"):
                response = request(self.uri, method, path, self.timeout.total_seconds(), **more)
        except MlflowException as error:
            inner = error.__cause__ or error.__context__ or error
            raise self._no_answer(str(inner)) from None
        return self._read(path, response.status_code, response.text)

    def _read(self, path: str, status: int, text: str) -> dict[str, Any]:
        answer = json_object(text)
        if status < _REDIRECT:
            return answer or {}
        if may_pass(status):
            why = f"it answers {status}"
            raise self._no_answer(why)
        where = f"MLflow at {self.shown}"
        if status in _DENIED:
            message = (
                f"{where} refuses {path} ({status}): set MLFLOW_TRACKING_USERNAME and "
                "MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, for a user who may edit there"
            )
            raise MlflowRefused(message)
        if answer is None:
            hint = "is mlflow.tracking_uri right, and is it MLflow 3.17.2 or later?"
            message = f"{where} does not know {path} (it answers {status}); {hint}"
            raise MlflowRefused(message)
        reason = self._cleaned(str(answer.get("message", "")))
        message = f"{where} does not do {path}: {reason or status}"
        raise MlflowRefused(message, str(answer.get("error_code", "")))

    def _no_answer(self, why: str) -> LabelsUnavailable:
        message = (
            f"MLflow at {self.shown} does not answer ({self._cleaned(why)}); labeling "
            "there waits and is tried again"
        )
        return LabelsUnavailable(message)

    def _cleaned(self, text: str) -> str:
        """Shorten a message of another program to one line, without our credentials."""
        credentials = {*secrets(), *secrets_of({"uri": self.uri})}
        return visible(masked(text, credentials))[:_LONGEST]
