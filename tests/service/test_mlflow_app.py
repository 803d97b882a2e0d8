"""The status pages inside MLflow's server: a real one with and without accounts, and a stand-in."""

import re
import secrets
import sys
from contextlib import closing
from importlib.metadata import entry_points
from importlib.util import find_spec
from urllib.parse import urljoin

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import JSONResponse

from monitor.config.load import load_config
from monitor.domain.errors import ConfigRefused
from monitor.rounds import run
from monitor.service import mlflow_app
from monitor.service.mlflow_app import PagesInMlflow
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.wiring import build
from tests.mlflow_server import MlflowServer, accounts
from tests.servers import cannot_start
from tests.service.pages.people import Client
from tests.small_config import configure, fill_labels, write_predictions

ANOTHER = """\
  - name: secret
    source:
      kind: duckdb
      path: more.csv
      columns: {id: id, time: at, score: score}
      threshold: 0.5
    schedule: {cron: "0 6 * * MON"}
    sample: {max_labels: 20, bands: {flagged: 1, passed: 1}}
    labeling: {kind: files}
"""
LINK = re.compile(r'(?:href|src)="(?!https?:|data:)([^"#]+)')
FOREIGN = {"origin": "http://evil.example", "sec-fetch-site": "cross-site"}


def write_config(folder):
    configure(folder, more=ANOTHER)
    with closing(Database(f"sqlite:///{folder}/monitor.db")) as database:
        schema.upgrade(database)
    return folder / "config.yaml"


def stored(folder):
    return (folder / "monitor.db").read_bytes()


# A stand-in that lets one user read one experiment


@pytest.fixture
def asked():
    return []


@pytest.fixture
def mlflow(asked):
    app = FastAPI()

    @app.api_route("/{path:path}", methods=["GET", "POST"])
    def answer(path: str, experiment_name: str = ""):
        asked.append((path, experiment_name))
        return JSONResponse({}, 200 if experiment_name in {"", "monitor/mail"} else 403)

    return app


@pytest.fixture
def client(mlflow, tmp_path):
    return Client(PagesInMlflow(mlflow, write_config(tmp_path)))


def test_the_first_page_shows_the_monitors_whose_experiment_the_user_may_read(client):
    page = client.get("/pr-monitor/")

    assert page.status_code == 200
    assert '<a href="/pr-monitor/monitors/mail">mail</a>' in page.text
    assert "secret" not in page.text
    assert "/leave" not in page.text


def test_a_monitor_that_the_user_may_not_read_looks_like_one_that_is_not_there(client):
    hidden, absent = (client.get(f"/pr-monitor/monitors/{name}") for name in ("secret", "absent"))

    assert hidden.status_code == absent.status_code == 404
    assert hidden.text == absent.text
    assert client.get("/pr-monitor/monitors/secret/recall.svg").status_code == 404
    assert client.get("/pr-monitor/monitors/mail").status_code == 200


@pytest.mark.parametrize("path", ["", "static/page.css"])
def test_who_may_read_no_experiment_gets_a_sentence_and_no_page(tmp_path, path):
    app = FastAPI()
    app.get("/{path:path}")(lambda path: JSONResponse({}, 403))  # noqa: ARG005

    answer = Client(PagesInMlflow(app, write_config(tmp_path))).get(f"/pr-monitor/{path}")

    assert answer.status_code == 403
    assert answer.text.startswith("you may read no experiment of a monitor here")
    assert answer.headers["x-frame-options"] == "DENY"


def test_a_browser_finds_the_style_sheet_and_the_first_page(client):
    assert client.get("/pr-monitor/static/page.css").headers["content-type"].startswith("text/css")
    assert client.get("/pr-monitor", follow_redirects=False).headers["location"] == "/pr-monitor/"


def test_every_link_of_every_page_is_answered_below_the_root(mlflow, tmp_path):
    write_predictions(tmp_path)
    application = build(load_config(write_config(tmp_path)))
    mail = application.context("mail")
    run.run(mail)
    fill_labels(tmp_path)
    run.run(mail)
    client = Client(PagesInMlflow(mlflow, tmp_path / "config.yaml", "/models"))
    waiting, seen = ["/models/pr-monitor/"], set[str]()

    while waiting:
        path = waiting.pop()
        page = client.get(path)
        assert page.status_code == 200, path
        seen.add(path)
        if page.headers["content-type"].startswith("text/html"):
            links = {urljoin(path, link) for link in LINK.findall(page.text)}
            waiting += sorted(links - seen - {*waiting})

    assert {path for path in seen if not path.startswith("/models/pr-monitor/")} == set()
    assert {"/models/pr-monitor/monitors/mail/rounds/1/report?version=1"} < seen


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
@pytest.mark.parametrize("path", ["", "leave", "label/answer", "sign-in", "monitors/mail"])
def test_only_reading_is_answered_and_mlflow_is_not_asked(client, asked, tmp_path, method, path):
    before = stored(tmp_path)

    answer = client.request(method, f"/pr-monitor/{path}", headers=FOREIGN)

    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
    assert stored(tmp_path) == before
    assert asked == []


@pytest.mark.parametrize(
    "path", ["label", "label/mine", "sign-in", "enter?key=1", "label/overview"]
)
def test_the_pages_of_labeling_are_not_there(client, path):
    assert client.get(f"/pr-monitor/{path}").status_code == 404


def test_every_other_address_is_mlflows(client, asked):
    paths = ["pr-monitors", "api/pr-monitor/x", "", "pr-monitorx/monitors/mail"]

    for path in paths:
        assert client.post(f"/{path}").status_code == 200

    assert asked == [(path, "") for path in paths]


@pytest.mark.parametrize(
    "status", [302, 401, 404, 421, 500], ids=["login", "401", "no-api", "host", "broken"]
)
@pytest.mark.parametrize("path", ["", "monitors/mail", "static/page.css", "monitors/absent"])
def test_what_mlflow_answers_instead_of_an_experiment_is_all_that_is_served(tmp_path, status, path):
    app = FastAPI()
    told = {"www-authenticate": "Basic", "location": "/login"}
    app.get("/{path:path}")(lambda path: JSONResponse({"why": "no"}, status, told))  # noqa: ARG005
    client = Client(PagesInMlflow(app, write_config(tmp_path)))

    answer = client.get(f"/pr-monitor/{path}", follow_redirects=False)

    assert (answer.status_code, answer.json()) == (status, {"why": "no"})
    assert told.items() <= dict(answer.headers).items()


def test_a_config_that_is_refused_leaves_mlflow_running_and_works_once_corrected(mlflow, tmp_path):
    path = write_config(tmp_path)
    good = path.read_text()
    path.write_text("monitors: 7\n")
    client = Client(PagesInMlflow(mlflow, path))

    refused = client.get("/pr-monitor/")
    path.write_text(good)

    assert refused.status_code == 503
    assert "the log of this server says why" in refused.text
    assert client.get("/health").status_code == 200
    assert client.get("/pr-monitor/").status_code == 200


def test_a_store_without_tables_shows_no_page(mlflow, tmp_path):
    configure(tmp_path)

    answer = Client(PagesInMlflow(mlflow, tmp_path / "config.yaml")).get("/pr-monitor/")

    assert answer.status_code == 503
    assert "cannot read its config or its store" in answer.text


def test_a_server_of_another_protocol_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "gunicorn", sys)

    with pytest.raises(ConfigRefused, match="without --gunicorn-opts"):
        mlflow_app.create_app()


# Real servers


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not list(entry_points(group="mlflow.app", name="pr_monitor")):
        cannot_start("the package is installed without its entry points: install it again")
    folder = tmp_path_factory.mktemp("pages-in-mlflow")
    write_config(folder)
    return folder


def named(server, name, auth=None, **more):
    path = "api/2.0/mlflow/experiments"
    made = httpx.post(
        f"{server.url}/{path}/create", json={"name": f"monitor/{name}"}, auth=auth, **more
    )
    assert made.status_code == 200, made.text
    return made.json()["experiment_id"]


@pytest.mark.slow
def test_an_mlflow_without_accounts_shows_the_monitors_that_it_has_rounds_of(folder, tmp_path):
    prefix = "/models"
    environment = {"PR_MONITOR_CONFIG": str(folder / "config.yaml"), "MLFLOW_STATIC_PREFIX": prefix}
    more = ("--app-name", "pr_monitor")
    with MlflowServer(tmp_path, more=more, environment=environment, prefix=prefix) as server:
        named(server, "mail", trust_env=False, timeout=60)
        with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
            page = client.get("/pr-monitor/")
            rebound = client.get("/pr-monitor/", headers={"host": "evil.example"})

    assert f'<a href="{prefix}/pr-monitor/monitors/mail">mail</a>' in page.text
    assert "secret" not in page.text
    assert rebound.status_code == 403
    assert "mail" not in rebound.text


@pytest.mark.slow
def test_accounts_of_mlflow_decide_who_sees_which_monitor(folder, tmp_path):
    if find_spec("flask_wtf") is None:
        cannot_start("mlflow[auth] is not installed (requirements/dev.lock)")
    password = secrets.token_urlsafe(16)
    environment = accounts(tmp_path, password)
    environment["PR_MONITOR_CONFIG"] = str(folder / "config.yaml")
    more = ("--app-name", "pr_monitor_auth")
    before = stored(folder)
    with MlflowServer(tmp_path, more=more, environment=environment) as server:
        root = ("root", password)
        ids = {name: named(server, name, root, trust_env=False) for name in ("mail", "secret")}
        with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
            users = {"username": "ada", "password": password}
            client.post("/api/2.0/mlflow/users/create", json=users, auth=root).raise_for_status()
            granted = {"username": "ada", "resource_type": "experiment", "permission": "READ"}
            granted["resource_id"] = ids["mail"]
            path = "/api/3.0/mlflow/users/permissions/grant"
            client.post(path, json=granted, auth=root).raise_for_status()

            nobody = client.get("/pr-monitor/")
            wrong = client.get("/pr-monitor/monitors/mail", auth=("ada", "wrong"))
            ada, admin = (client.get("/pr-monitor/", auth=(u, password)) for u in ("ada", "root"))
            other = client.get("/pr-monitor/monitors/secret", auth=("ada", password))
            posted = client.post("/pr-monitor/leave", auth=("ada", password), headers=FOREIGN)

    assert [nobody.status_code, wrong.status_code] == [401, 401]
    assert "Basic" in nobody.headers["www-authenticate"]
    assert "mail" not in nobody.text + wrong.text
    assert ("monitors/mail" in ada.text, "secret" in ada.text) == (True, False)
    assert ("monitors/mail" in admin.text, "monitors/secret" in admin.text) == (True, True)
    assert [other.status_code, posted.status_code] == [404, 405]
    assert stored(folder) == before
