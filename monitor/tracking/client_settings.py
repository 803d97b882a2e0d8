"""Settings of MLflow's client, for as long as one delivery takes.

MLflow's client reads them from the environment of the process. They are not written there: glibc
moves the list of variables when one is added, and another thread that is just reading it (any
look-up of a host name or time zone does) then crashes the process. The objects by which MLflow
reads the environment answer with our value instead.
"""

from __future__ import annotations

import logging.config
from collections.abc import Iterator
from contextlib import contextmanager

TIMEOUT = "MLFLOW_HTTP_REQUEST_TIMEOUT"
TRACKING_URI = "MLFLOW_TRACKING_URI"
"""Where files of a run go by MLflow before 3.7, whatever server its client was made for."""
_CALL_ONCE_AND_PRINT_NOTHING = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": 0,
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": True,
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": False,
}


@contextmanager
def one_try_and_quiet(tracking_uri: str) -> Iterator[None]:
    """Let each call be made once and print nothing; only one thread may be in here at a time."""
    settings = {TRACKING_URI: tracking_uri, **_CALL_ONCE_AND_PRINT_NOTHING}
    configure = logging.config.fileConfig
    # MLflow before 3.7 would put handlers of its own in place of this process's at each migration.
    logging.config.fileConfig = lambda *_, **__: None
    try:
        for name, value in settings.items():
            _answer(name, value)
        yield
    finally:
        logging.config.fileConfig = configure
        for name in (TIMEOUT, *settings):
            _variable(name).pop("get", None)


def set_timeout(seconds: int) -> None:
    """Let the next call wait for so long, until the delivery is over."""
    _answer(TIMEOUT, seconds)


def _answer(name: str, value: object) -> None:
    _variable(name)["get"] = lambda: value


def _variable(name: str) -> dict[str, object]:
    """Return what MLflow's object for a variable holds; its `get` is then found before its class's.

    The name is public, the object that reads it is shared by all of MLflow's modules.
    """
    from mlflow import environment_variables  # noqa: PLC0415  takes 2.8 s

    variable: object = getattr(environment_variables, name)
    return vars(variable)
