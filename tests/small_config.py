"""A small config with real files, as a user has it: predictions, labels, a store and MLflow."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

from sqlalchemy import text

from monitor.config.load import load_config
from monitor.storage.database import Database
from monitor.tracking.connection import Connection
from tests.csv_files import read_rows, write_rows

CONFIG = """\
store: {store}
mlflow: {{tracking_uri: "{mlflow}"}}
monitors:
  - name: mail
    source:
      kind: duckdb
      path: predictions.csv
      columns: {{id: id, time: at, score: score, show: [subject]}}
      threshold: 0.5
    schedule: {{cron: "0 6 * * MON"}}
    sample: {{max_labels: 20, bands: {{flagged: 1, passed: 1}}}}
    labeling: {{kind: files}}
    limits: {{precision: 0.5}}
{more}"""
HOOKS = """\
    hooks: [ops]
hooks:
  ops: {kind: webhook, url: "${OPS_HOOK}", secret: "${OPS_HOOK_SECRET}", allow_private: true}
"""


def write_predictions(folder):
    """Write predictions up to the present, which processes of their own go by."""
    newest = datetime.now(UTC)
    rows = [
        {"id": f"m{number:04}", "at": (newest - timedelta(hours=number)).isoformat()}
        | {"score": 0.1 if number % 5 else 0.9, "subject": f"subject {number}"}
        for number in range(21 * 24)
    ]
    write_rows(folder / "predictions.csv", rows)


def configure(
    folder, *, store="sqlite:///monitor.db", mlflow="sqlite:///mlflow.db", grace=None, more=""
):
    path = folder / "config.yaml"
    text = CONFIG.format(store=store, mlflow=mlflow, more=more)
    if grace is not None:
        text = text.replace("      columns:", f"      grace: {grace}\n      columns:")
    path.write_text(text)
    return load_config(path)


def fill_labels(folder):
    """Answer every task: positive where a digit of its key says so."""
    [path] = (folder / "labels").glob("*.csv")
    rows = read_rows(path)
    for row in rows:
        row |= {"label": str(int(row["task"][1:], 16) % 2), "annotator": "ada"}
    unfinished = folder / "labels" / "unfinished"
    write_rows(unfinished, rows)
    unfinished.replace(folder / "labels" / "filled" / path.name)


def rows(database, query):
    with database.read() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def stored(folder, query):
    """Ask the store of a folder."""
    with closing(Database(f"sqlite:///{folder}/monitor.db")) as database:
        return rows(database, query)


def runs(folder, experiment):
    with Connection(f"sqlite:///{folder}/mlflow.db", None, 60).open("the runs") as client:
        found = client.get_experiment_by_name(experiment)
        assert found is not None
        return client.search_runs([found.experiment_id])
