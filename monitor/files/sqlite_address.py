"""Addresses of SQLite files, in which some characters of a path mean something."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote

from monitor.domain.errors import ConfigRefused

_READS_ESCAPES = not version("sqlalchemy").startswith("2.0.")
"""Whether ``%20`` in the path of an address stands for a blank: since SQLAlchemy 2.1."""


def sqlite_path(address: str) -> Path | None:
    """Return the file of a SQLite address, or None for any other address.

    Reads the address as SQLAlchemy does: from 2.1 on ``%20`` stands for a blank.

    >>> print(sqlite_path("sqlite:////srv/my%20project/mlflow.db?timeout=5"))
    /srv/my project/mlflow.db
    >>> sqlite_path("http://mlflow:5000")
    """
    prefix, separator, path = address.partition(":///")
    if not separator or not path or prefix.partition("+")[0] != "sqlite":
        return None
    file = path.partition("?")[0]
    return Path(unquote(file) if _READS_ESCAPES else file)


def absolute_address(address: str, folder: Path) -> str:
    """Make the path of a SQLite address absolute; return every other address as it is.

    >>> absolute_address("sqlite:///mlflow.db", Path("/srv/50%20off"))
    'sqlite:////srv/50%2520off/mlflow.db'
    """
    path = sqlite_path(address)
    if path is None or path.is_absolute():
        return address
    return _with_path(address, folder.absolute() / path)


def literal_address(address: str, folder: Path) -> str:
    """Return the address of the SQLite file whose path is written in ``address`` as it is.

    A setting such as ``sqlite:///${WORKSPACE}/monitor.db`` names a file. Reading ``%2F`` in it as
    an escape would open another project's file. Every other address is returned as it is.

    >>> literal_address("sqlite:///a%2Fb/monitor.db", Path("/srv"))
    'sqlite:////srv/a%252Fb/monitor.db'
    """
    if sqlite_path(address) is None:
        return address
    return _with_path(address, folder / address.partition(":///")[2].partition("?")[0])


def _with_path(address: str, path: Path) -> str:
    prefix, options = address.partition(":///")[0], address.partition("?")[1:]
    written = path.as_posix()
    if _READS_ESCAPES:
        # No more than has to be: MLflow takes the path for one of a folder, as it stands.
        written = written.replace("%", "%25").replace("?", "%3F")
    elif "?" in written:
        message = f"{written}: SQLAlchemy 2.0 opens no SQLite file whose path has a ?; 2.1 does"
        raise ConfigRefused(message)
    return "".join((prefix, ":///", written, *options))
