"""The accounts of an MLflow server as a login: it is asked, by a password, whose that is."""

from __future__ import annotations

import base64
import json
import os
import ssl
from contextlib import closing
from functools import cache
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from monitor.domain.adapters import AccountsAway, NameRefused
from monitor.domain.errors import ConfigRefused, TryLater
from monitor.domain.people import Role, annotator_name
from monitor.hooks.posting import Connections, HttpAnswer, NoAnswer
from monitor.plugins.mlflow_login.settings import MlflowLoginSettings

_PATH = "/api/2.0/mlflow/users/current"
_SECONDS = 10.0  # How long MLflow may take; nobody waits longer at a page that asks for a password
_MOST_BYTES = 10_000
_REDIRECT = range(300, 400)
_CERTIFICATES = ("MLFLOW_TRACKING_SERVER_CERT_PATH", "REQUESTS_CA_BUNDLE")
"""Where MLflow's own client looks for a root of one's own."""


class MlflowAccounts:
    """The accounts of the MLflow server at an address; what they may do is in the config.

    seconds: After which an answer is not waited for, however slowly it comes.
    """

    kind = "mlflow"
    password = "Password"  # noqa: S105  what the field of the form is called
    hint = "With the name and the password of your MLflow account."

    def __init__(
        self, tracking_uri: str, login: MlflowLoginSettings, *, seconds: float = _SECONDS
    ) -> None:
        parts = urlsplit(tracking_uri)
        host = parts.netloc.rpartition("@")[2]  # a password of ours is for nobody else's use
        self.shown = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
        self._login = login
        self._seconds = seconds

    def name_of(self, name: str, password: str) -> str | None:
        """Ask MLflow whose name and password these are; its answer has the name."""
        if ":" in name:
            return None  # which ends a name where the two are sent
        answer = self._sign_in(name, password)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            return None
        if answer.status != HTTPStatus.OK:
            raise AccountsAway(self._answer_text(answer))
        return _usable(self._name_in(answer))

    def role(self, name: str) -> Role:
        """Find the role that the config gives somebody."""
        if name in self._login.admins:
            return Role.ADMIN
        return Role.VIEWER if name in self._login.viewers else Role.LABELER

    def check(self) -> tuple[str, tuple[str, ...]]:
        """Make sure that MLflow has accounts, and refuses a password that nobody has.

        Raises `ConfigRefused` if it lets anybody in, or nobody; `TryLater` if it does not answer.
        """
        name = base64.urlsafe_b64encode(os.urandom(12)).decode()
        try:
            answer = self._sign_in(name, name)
        except AccountsAway as away:
            raise TryLater(str(away)) from None
        if answer.status == HTTPStatus.UNAUTHORIZED:
            return f"MLflow at {self.shown} knows accounts", ()
        raise ConfigRefused(self._answer_text(answer))

    def how_to_make_admin(self, name: str) -> str:
        """Name the setting that gives somebody the role."""
        return f"add {name!r} to pages.login.admins"

    def _answer_text(self, answer: HttpAnswer) -> str:
        where = f"MLflow at {self.shown}"
        if answer.status == HTTPStatus.OK:
            return (
                f"{where} takes any password for a right one, so nobody can sign in by it; let it "
                "check accounts: mlflow server --app-name basic-auth"
            )
        if answer.status == HTTPStatus.NOT_FOUND:
            return f"{where} has no accounts; start it with: mlflow server --app-name basic-auth"
        if answer.status in _REDIRECT:
            return (
                f"{where} answers {answer.status}, a redirect, and no password is sent on; set "
                "mlflow.tracking_uri to the final place"
            )
        return f"{where} answers {answer.status} when asked whose a password is"

    def _name_in(self, answer: HttpAnswer) -> str:
        try:
            name = json.loads(answer.text)["user"]["username"]
        except (ValueError, LookupError, TypeError, RecursionError):
            name = None
        if not isinstance(name, str):
            message = f"MLflow at {self.shown} names nobody in its answer"
            raise AccountsAway(message)
        return name

    def _sign_in(self, name: str, password: str) -> HttpAnswer:
        credentials = base64.b64encode(f"{name}:{password}".encode()).decode()
        headers = {"accept": "application/json", "authorization": f"Basic {credentials}"}
        url, seconds = self.shown + _PATH, self._seconds
        try:
            with closing(Connections(allow_private=True, trust=_trust())) as connections:
                return connections.ask(
                    "GET", url, headers, None, seconds, at_most=_MOST_BYTES, whole=True
                )
        except NoAnswer as error:
            message = f"MLflow at {self.shown} cannot be reached: {error}"
            raise AccountsAway(message) from error


@cache
def _trust() -> ssl.SSLContext:
    certificates = next((os.environ[name] for name in _CERTIFICATES if os.environ.get(name)), None)
    if certificates is None:
        return httpx.create_ssl_context()
    if Path(certificates).is_dir():
        return ssl.create_default_context(capath=certificates)
    return ssl.create_default_context(cafile=certificates)


def _usable(name: str) -> str:
    """Take a name that stands for one account only, regardless of what is done to it."""
    try:
        stored_name = annotator_name(name)
    except ValueError as problem:
        raise NameRefused(str(problem)) from None
    if stored_name != name:
        message = f"Answers would be kept under {stored_name}, which may be somebody else's name."
        raise NameRefused(message)
    return name
