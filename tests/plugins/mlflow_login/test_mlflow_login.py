"""Signing in with an account of an MLflow server: a real one, and ones that misbehave."""

import base64
import json
import os
import secrets
import socket
import time
from contextlib import contextmanager, suppress
from importlib.util import find_spec

import httpx
import pytest
import structlog

from monitor import wiring
from monitor.config.load import load_config
from monitor.domain.adapters import AccountsAway, NameRefused
from monitor.domain.errors import ConfigRefused, TryLater
from monitor.plugins.mlflow_login.accounts import MlflowAccounts
from monitor.plugins.mlflow_login.settings import MlflowLoginSettings, takes_passwords
from monitor.service.pages.sign_in import FREE_FOR_A_NAME
from monitor.service.runtime import Running
from monitor.service.web.health import Heartbeat
from tests.mlflow_server import MlflowServer
from tests.servers import LocalServer, QuietHandler, cannot_start, free_port
from tests.service.pages.site import Site, problem, reachable
from tests.small_config import configure

LOGIN = {"kind": "mlflow", "admins": ["root"], "viewers": ["vic"]}


def accounts_at(url, **more):
    return MlflowAccounts(url, MlflowLoginSettings.model_validate(LOGIN), **more)


def site_of(database, accounts):
    return Site(database, reachable(login=LOGIN), accounts)


# A real server


@pytest.fixture(scope="module")
def mlflow_with_accounts(tmp_path_factory):
    """A real MLflow server with accounts: root, ada, vic and one with a name that has no use."""
    if find_spec("flask_wtf") is None:
        cannot_start("mlflow[auth] is not installed (requirements/dev.lock)")
    folder = tmp_path_factory.mktemp("mlflow-accounts")
    password = secrets.token_urlsafe(16)
    (folder / "accounts.ini").write_text(
        "[mlflow]\ndefault_permission = READ\n"
        f"database_uri = sqlite:///{folder}/accounts.db\n"
        f"admin_username = root\nadmin_password = {password}\n"
        "authorization_function = mlflow.server.auth:authenticate_request_basic_auth\n"
    )
    server = MlflowServer(
        folder,
        more=("--app-name", "basic-auth"),
        environment={
            "MLFLOW_AUTH_CONFIG_PATH": str(folder / "accounts.ini"),
            "MLFLOW_FLASK_SERVER_SECRET_KEY": secrets.token_urlsafe(32),
        },
    )
    with server:
        for name in ("ada", "vic", "ad\u200ba"):
            made = httpx.post(
                f"{server.url}/api/2.0/mlflow/users/create",
                json={"username": name, "password": password},
                auth=("root", password),
                trust_env=False,
                timeout=60,
            )
            assert made.status_code == 200, made.text
        yield server.url, password


@pytest.mark.slow
def test_an_account_of_mlflow_lets_in_and_answers_are_kept_under_its_name(
    database, mlflow_with_accounts
):
    url, password = mlflow_with_accounts
    site = site_of(database, accounts_at(url))

    _, page = site.sign_in("ada", password)
    wrong = site.sign_in("ada", password + "x")[1]
    unknown = site.sign_in("nobody", password)[1]

    assert "Labeling as <bdi>ada</bdi>" in page.text
    assert [wrong.status_code, unknown.status_code] == [401, 401]
    assert "This name and this password do not match." in problem(unknown)
    assert problem(wrong).replace("ada", "") == problem(unknown).replace("nobody", "")
    assert password not in str(site.rows("page_sessions"))


@pytest.mark.slow
def test_an_account_whose_name_looks_like_another_is_not_let_in(database, mlflow_with_accounts):
    url, password = mlflow_with_accounts
    site = site_of(database, accounts_at(url))

    _, page = site.sign_in("ad\u200ba", password)

    assert page.status_code == 403
    assert "letters, digits and signs that show" in problem(page)
    assert site.rows("page_sessions") == []


@pytest.mark.slow
def test_check_knows_an_mlflow_with_accounts_from_one_without(mlflow_with_accounts, mlflow_url):
    url, _ = mlflow_with_accounts

    assert accounts_at(url).check() == (f"MLflow at {url} knows accounts", ())
    with pytest.raises(ConfigRefused, match="has no accounts; start it with: mlflow server --app"):
        accounts_at(mlflow_url).check()


# Servers that misbehave


@contextmanager
def answering(status=200, body=b"", headers=(), seconds_a_byte=0.0):
    """A server that answers each request alike; yields its address and what it was asked."""
    asked: list[dict[str, str]] = []

    class Handler(QuietHandler):
        def respond(self):
            asked.append({"path": self.path, **{k.lower(): v for k, v in self.headers.items()}})
            self.answer(status, b"", headers, str(len(body)))
            with suppress(OSError):
                for byte in body:
                    self.wfile.write(bytes([byte]))
                    time.sleep(seconds_a_byte)

    with LocalServer(Handler) as server:
        yield server.root, asked


def named(name):
    return json.dumps({"user": {"username": name, "is_admin": True}}).encode()


def test_the_name_in_the_answer_counts_and_is_asked_for_with_the_password_in_a_header():
    with answering(body=named("Ada")) as (url, asked):
        found = accounts_at(f"{url}/prefix/").name_of("ada", "p\u00e4ss:word")

    assert found == "Ada"
    [one] = asked
    assert one["path"] == "/prefix/api/2.0/mlflow/users/current"
    assert base64.b64decode(one["authorization"].removeprefix("Basic ")).decode() == (
        "ada:p\u00e4ss:word"
    )


def test_a_password_in_the_address_of_mlflow_is_not_used_for_others():
    with answering(status=401) as (url, asked):
        accounts = accounts_at(url.replace("http://", "http://service:secret@"))
        found = accounts.name_of("ada", "x")

    assert found is None
    assert "secret" not in accounts.shown
    assert base64.b64encode(b"ada:x").decode() in asked[0]["authorization"]


@pytest.mark.parametrize("status", [301, 307])
def test_no_password_is_sent_on_to_where_mlflow_redirects(status):
    with (
        answering(body=named("ada")) as (elsewhere, got),
        answering(status, headers=[("location", elsewhere)]) as (url, _),
        pytest.raises(AccountsAway, match=f"answers {status}, a redirect, and no password"),
    ):
        accounts_at(url).name_of("ada", "x")

    assert got == []


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b""),
        (200, b"<html>welcome</html>"),
        (200, b'{"user": "ada"}'),
        (200, b'{"user": {"username": 7}}'),
        (200, b"[" * 9_000),
        (200, named("a" * 20_000)),
        (403, named("ada")),
        (500, named("ada")),
    ],
)
def test_only_a_plain_yes_lets_in(status, body):
    with answering(status, body) as (url, _), pytest.raises(AccountsAway):
        accounts_at(url).name_of("ada", "x")


@pytest.mark.parametrize("name", ["", "ada\u202e", " ada"])
def test_an_account_under_whose_name_no_answer_can_be_kept_is_not_let_in(name):
    with answering(body=named(name)) as (url, _), pytest.raises(NameRefused):
        accounts_at(url).name_of("ada", "x")


def test_a_name_with_a_colon_is_asked_of_nobody():
    with answering(body=named("ada")) as (url, asked):
        found = accounts_at(url).name_of("ada:x", "y")

    assert (found, asked) == (None, [])


def test_an_mlflow_that_dribbles_or_says_nothing_is_not_waited_for_longer_than_the_limit():
    with (
        answering(body=named("ada"), seconds_a_byte=0.2) as (url, _),
        pytest.raises(AccountsAway, match=r"did not answer within 0\.5 s"),
    ):
        accounts_at(url, seconds=0.5).name_of("ada", "x")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(AccountsAway, match="did not answer within"):
            accounts_at(url, seconds=0.3).name_of("ada", "x")


def test_while_mlflow_is_away_nobody_comes_in_nobody_waits_after_and_who_is_in_stays(database):
    with answering(body=named("ada")) as (url, _):
        site = site_of(database, accounts_at(url))
        ada, _ = site.sign_in("ada", "x")
    site.accounts = accounts_at(f"http://127.0.0.1:{free_port()}")

    with structlog.testing.capture_logs() as lines:
        away = [site.sign_in("bob", "x")[1] for _ in range(FREE_FOR_A_NAME + 1)]

    assert {answer.status_code for answer in away} == {503}
    assert "No password can be checked now." in problem(away[-1])
    assert "cannot be reached" in lines[0]["reason"]
    assert ada.get("/label").url.path == "/label"
    assert {row["failures"] for row in site.rows("page_attempts")} == {0}


def test_check_refuses_an_mlflow_that_takes_any_password_and_says_when_it_is_away():
    with (
        answering(body=named("anybody")) as (url, _),
        pytest.raises(ConfigRefused, match="takes any password for a right one"),
    ):
        accounts_at(url).check()
    with pytest.raises(TryLater, match="cannot be reached"):
        accounts_at(f"http://127.0.0.1:{free_port()}").check()


def test_a_proxy_of_the_environment_gets_no_password(monkeypatch):
    with answering(body=named("eve")) as (proxy, got), answering(status=401) as (url, _):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setitem(os.environ, name, proxy)

        found = accounts_at(url).name_of("ada", "x")

    assert (found, got) == (None, [])


def test_passwords_are_sent_under_https_or_to_this_machine_only(tmp_path):
    pages = "pages: {listen: 127.0.0.1:8089, login: {kind: mlflow}}\n"
    elsewhere = ["http://mlflow:5000", "http://localhost.example.org", "sqlite:///mlflow.db"]
    elsewhere += ["http://10.0.0.7:5000", "http://127.0.0.1.example.org:5000"]

    for url in [*elsewhere, "databricks", "https://"]:
        assert not takes_passwords(url)
        with pytest.raises(ConfigRefused, match="no password is sent to one without encryption"):
            configure(tmp_path, mlflow=url, more=pages)
    configure(tmp_path, mlflow="https://mlflow.example.org", more=pages)
    assert load_config(tmp_path / "config.yaml").pages is not None


def test_somebody_has_one_role_which_stands_in_the_config():
    accounts = accounts_at("https://mlflow.example.org")

    found = {name: accounts.role(name) for name in ("root", "vic", "ada")}

    assert found == {"root": "admin", "vic": "viewer", "ada": "labeler"}
    assert accounts.how_to_make_admin("ada") == "add 'ada' to pages.login.admins"
    with pytest.raises(ValueError, match="viewers: 'ada' is among admins too"):
        MlflowLoginSettings(admins=("ada",), viewers=("ada",))


def test_the_mlflow_whose_accounts_let_people_in_stays_after_a_reload_and_is_told(tmp_path):
    login = "names: [labels.example.org], behind_proxy: true, login: {kind: mlflow}"
    more = f"pages: {{listen: 127.0.0.1:8089, {login}}}\n"
    config = configure(tmp_path, mlflow="https://one.org", more=more)
    application = wiring.build(config)
    running = Running(application, tmp_path / "config.yaml", Heartbeat("rounds"))
    configure(tmp_path, mlflow="https://two.org", more=more)

    with structlog.testing.capture_logs() as logs:
        running.reload()
    application.database.close()

    assert "mlflow" in {line.get("setting") for line in logs}
    assert running.application.config.mlflow.tracking_uri == "https://one.org"
