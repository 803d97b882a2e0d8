"""Telling MLflow the same again changes nothing of what it keeps: tables and files."""

import hashlib
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

from tests.tracking.conftest import handler_for
from tests.tracking.reports import FLEET, ROUND, TAGS, make_effect, make_report

MOVES = "last_update"
"""Columns of when an experiment or a version was written, which MLflow moves by itself."""


def digest(folder):
    """Identify all rows of all tables, and all files, of a store."""
    found = hashlib.sha256()
    with closing(sqlite3.connect(folder / "mlflow.db")) as store:
        query = "select name from sqlite_master where type = 'table' order by name"
        for (table,) in store.execute(query).fetchall():
            columns = [row[1] for row in store.execute(f"pragma table_info('{table}')")]
            kept = ", ".join(f'"{name}"' for name in columns if not name.startswith(MOVES))
            rows = store.execute(f'select {kept} from "{table}"').fetchall()
            found.update(f"{table} {sorted(map(repr, rows))}".encode())
    for path in sorted((folder / "mlartifacts").rglob("*")):
        if path.is_file():
            found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return found.hexdigest()


def test_telling_rounds_twice_leaves_the_tracking_store_as_it_was(tmp_path, mlflow_tables):
    shutil.copy(mlflow_tables, tmp_path / "mlflow.db")
    url = f"sqlite:///{tmp_path}/mlflow.db"
    handler_for(url, "p").check(["mail-travel"])
    handler = handler_for(url, "p")
    model = register(url)
    effects = [
        make_effect(kind, make_report(number, version=version, shift=-shift, model=model))
        for number, version, shift in ((1, 1, 0.0), (2, 1, 0.0), (2, 2, 0.1), (10, 1, 0.0))
        for kind in (ROUND, FLEET, TAGS)
    ]
    empty = digest(tmp_path)
    receipts = [handler.deliver(effect) for effect in effects]
    before = digest(tmp_path)
    files = [path for path in (tmp_path / "mlartifacts").rglob("*") if path.is_file()]
    newest = effects[-3:]

    again = [handler_for(url, "p").deliver(effect) for effect in newest]
    after_a_failed_try = [
        handler_for(url, "p").deliver(replace(effect, attempt=2, has_failed=True))
        for effect in newest
    ]

    assert before != empty
    assert len(files) > len(effects)
    assert again == after_a_failed_try == receipts[-3:]
    assert digest(tmp_path) == before


def register(url):
    from mlflow import MlflowClient  # noqa: PLC0415

    client = MlflowClient(url)
    client.create_registered_model("mail")
    client.create_model_version("mail", source="s3://models/somewhere")
    return "models:/mail/1"
