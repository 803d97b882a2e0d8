"""Optional dependencies (extras), and the error if one is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from monitor.domain.errors import ConfigRefused

REPOSITORY = "https://github.com/mlflow-pr-monitor/mlflow-pr-monitor"


def install_command(extra: str) -> str:
    """Return the command that installs an extra from the repository."""
    return f"pip install 'mlflow-pr-monitor[{extra}] @ git+{REPOSITORY}'"


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Raise `ConfigRefused` if an import in this block fails; the message has the install command.

    >>> with needs_extra("serve", "pr-monitor serve"):
    ...     import no_such_library
    Traceback (most recent call last):
    monitor.domain.errors.ConfigRefused: pr-monitor serve needs the extra serve; install it by: \
pip install 'mlflow-pr-monitor[serve] @ \
git+https://github.com/mlflow-pr-monitor/mlflow-pr-monitor' (No module named 'no_such_library')
    """
    try:
        yield
    except ModuleNotFoundError as error:
        command = install_command(extra)
        message = f"{what} needs the extra {extra}; install it by: {command} ({error})"
        raise ConfigRefused(message) from error
