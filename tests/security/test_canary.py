"""A canary in every secret and in every text that people label: where is it after a full run?"""

import json
from contextlib import closing

import psycopg
import pytest

from tests.hooks.receivers import Receiver
from tests.small_config import CONFIG, fill_labels
from tests.workers import python

SECRETS = {
    "CANARY_STORE": "canary-of-the-store-7f3a",
    "CANARY_MLFLOW": "canary-of-mlflow-91bd",
    "CANARY_PATH": "canary-in-the-path-c04e",
    "CANARY_SIGNING": "canary-that-signs-5d21-long-enough",
    "CANARY_APPRISE": "canaryofapprise2b9c",
    "CANARY_COMMAND": "canary-of-the-command-a815",
    "MLFLOW_TRACKING_PASSWORD": "canary-of-the-tracking-server-33d7",
}
TEXT = "canary-text"
HOOKS = """\
    hooks: [web, chat, run]
hooks:
  web:
    {{kind: webhook, url: "{root}/${{CANARY_PATH}}", secret: "${{CANARY_SIGNING}}",
      allow_private: true}}
  chat: {{kind: apprise, url: "json://user:${{CANARY_APPRISE}}@{place}/"}}
  run: {{kind: command, command: [./tell], environment: [CANARY_COMMAND]}}
"""

# Every line that any library logs at any level goes to standard error, our own at DEBUG too.
LOUD = """
import json, logging, sys

import structlog

logging.basicConfig(level=1, stream=sys.stderr)
import sqlalchemy
logging.getLogger("sqlalchemy").setLevel(logging.INFO)  # with DEBUG it would print what it reads
real = structlog.make_filtering_bound_logger
structlog.make_filtering_bound_logger = lambda _: real(0)

from monitor.cli import main

for words in json.loads(sys.argv[1]):
    sys.argv = ["pr-monitor", *words]
    print(f"--- {words}", flush=True)
    try:
        main()
    except SystemExit as ended:
        print(f"--- ended {ended.code}", flush=True)
"""

FIRST = [["check", "--json"], ["run-once"]]
THEN = [
    *(["run-once", "--json"], ["status", "--json"], ["rounds", "--json"], ["show", "1", "--json"]),
    *(["alerts", "test", "--json"], ["effects", "--json"], ["db", "check", "--json"]),
    *(["backup", "copy.db"], ["forget", "no-such-item"], ["run-once", "--monitor", "nobody"]),
]
FAILING = [
    *(["effects", "retry", "--all"], ["run-once", "--json"], ["run-once"], ["check", "--json"]),
    *(["status"], ["effects"]),
]
MLFLOW = {
    "config.yaml": "sqlite:///mlflow.db",
    "failing.yaml": "http://user:${CANARY_MLFLOW}@127.0.0.1:9",
}


def run(folder, commands):
    """Run commands at the loudest; returns all that they wrote."""
    done = python("-c", LOUD, json.dumps(commands), cwd=folder, **SECRETS)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


def configure(folder, url, receiver):
    """Write configs whose every secret comes from the environment, as it must."""
    store = url.replace("monitor@", "monitor:${CANARY_STORE}@")
    hooks = HOOKS.format(root=receiver.root, place=receiver.root.removeprefix("http://"))
    for name, mlflow in MLFLOW.items():
        (folder / name).write_text(CONFIG.format(store=store, mlflow=mlflow, more=hooks))
    (folder / "tell").write_text('#!/bin/sh\ncat >> told\nprintf "$CANARY_COMMAND" > seen\n')
    (folder / "tell").chmod(0o700)
    texts = folder / "predictions.csv"
    texts.write_text(texts.read_text().replace("subject ", f"{TEXT} "))


def dumped(url):
    """Read every row of the store as text, by table."""
    with closing(psycopg.connect(url.replace("+psycopg", ""))) as connection:
        names = connection.execute(
            "select table_name from information_schema.tables where table_schema = 'public'"
        ).fetchall()
        return {
            name: "\n".join(
                row[0] for row in connection.execute(f"select t::text from {name} t").fetchall()
            )
            for (name,) in names
        }


def files(folder, pattern):
    """Read the bytes of all files of a kind."""
    return {path: path.read_bytes() for path in folder.rglob(pattern) if path.is_file()}


@pytest.fixture
def played(folder, postgres_url):
    """A round from draw to MLflow and hooks, and then an MLflow that does not answer."""
    with Receiver(204) as receiver:
        configure(folder, postgres_url, receiver)
        said = run(folder, FIRST)
        waiting = dumped(postgres_url)
        fill_labels(folder)
        failing = [[*words, "--config", "failing.yaml"] for words in FAILING]
        said += run(folder, [*THEN, *failing])
        got = [str(each) for each in receiver.got]
    return folder, said, waiting, dumped(postgres_url), got


def test_no_secret_and_no_text_of_a_stranger_leaves_its_place(played):
    folder, said, waiting, store, got = played
    labels = b"".join(files(folder / "labels", "*").values())
    mlflow = (
        files(folder, "mlflow.db*")
        | files(folder, "mlartifacts/**/*")
        | files(folder, "mlruns/**/*")
    )
    sent = " ".join(got)
    told = (folder / "told").read_text()
    elsewhere = {name: rows for name, rows in waiting.items() if name != "payloads"}

    # They were all used, and the texts were there to be found.
    assert SECRETS["CANARY_PATH"] in sent
    assert "webhook-signature" in sent
    assert (folder / "seen").read_text() == SECRETS["CANARY_COMMAND"]
    assert TEXT in waiting["payloads"]
    assert TEXT.encode() in labels
    assert "INSERT INTO payloads" in said
    assert "does not answer" in said
    assert "done" in store["effects"]
    assert len(mlflow) > 1

    for name, secret in SECRETS.items():
        assert secret not in said, name
        assert secret not in "".join([*waiting.values(), *store.values()]), name
        assert secret.encode() not in labels, name
        assert secret not in told, name
        assert not [path for path, content in mlflow.items() if secret.encode() in content], name
    assert TEXT not in said
    assert TEXT not in sent + told
    assert not [name for name, rows in elsewhere.items() if TEXT in rows]
    assert not [path for path, content in mlflow.items() if TEXT.encode() in content]
