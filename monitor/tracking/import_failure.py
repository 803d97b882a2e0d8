"""Why MLflow's library does not load, and which packages to install instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import metadata


def import_failure(error: ImportError, version: Callable[[str], str] = metadata.version) -> str:
    """Return one sentence for an import of MLflow that failed, with the command that repairs it.

    >>> versions = {"mlflow": "3.4.0", "sqlalchemy": "2.1.9"}.__getitem__
    >>> error = ImportError("cannot import name 'A' from 'sqlalchemy.pool'", name="sqlalchemy.pool")
    >>> import_failure(error, versions).partition(": ")[0]
    'MLflow 3.4.0 does not load beside sqlalchemy 2.1.9'
    """
    mlflow = f"MLflow {_version('mlflow', version) or '(version unknown)'}"
    reason = re.sub(r" \((/|unknown location).*\)$", "", " ".join(str(error).split()))
    package = (error.name or "mlflow").partition(".")[0]
    installed = _version(package, version)
    if package == "mlflow":
        return f"{mlflow} does not load: {reason}. Install it again: pip install --upgrade mlflow"
    if installed is None:
        return (
            f"{mlflow} needs the package {package}, which is not installed: {reason}. Install it, "
            f"and check again: pip install {package}"
        )
    release = ".".join(installed.split(".")[:2])
    return (
        f"{mlflow} does not load beside {package} {installed}: {reason}. Install an older "
        f"{package} or a newer MLflow, and check again: pip install '{package}<{release}', or pip "
        "install --upgrade mlflow"
    )


def _version(package: str, version: Callable[[str], str]) -> str | None:
    try:
        return version(package)
    except (metadata.PackageNotFoundError, KeyError):
        return None
