"""Which version an alias names, asked with MLflow's library: a task and an answer as JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from monitor.domain.errors import DeliveryFailed
from monitor.domain.registered import NAMES_NONE, alias_of
from monitor.tracking.connection import Connection

if TYPE_CHECKING:
    from mlflow import MlflowClient


def main() -> None:
    """Answer one question."""
    task = json.loads(sys.stdin.read())
    connection = Connection(task["registry"], task["registry"], task["seconds"])
    answer: dict[str, str | None]
    try:
        with connection.open(f"a look at the alias of {task['model']}") as client:
            answer = {"version": _version(client, task["model"])}
    except DeliveryFailed as error:
        answer = {"why": str(error)}
    sys.stdout.write(f"{json.dumps(answer)}\n")


def _version(client: MlflowClient, model: str) -> str | None:
    from mlflow.exceptions import MlflowException  # noqa: PLC0415  takes 2.8 s

    alias = alias_of(model)
    if alias is None:
        return None
    try:
        return str(client.get_model_version_by_alias(alias.model, alias.alias).version)
    except MlflowException as error:
        if error.error_code in NAMES_NONE:
            return None
        raise


if __name__ == "__main__":
    main()
