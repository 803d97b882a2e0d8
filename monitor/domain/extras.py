"""Libraries that come with an extra of the package, and the refusal where it is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from monitor.domain.errors import ConfigRefused


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Refuse an import that fails inside with the command that installs the extra.

    >>> with needs_extra("serve", "pr-monitor serve"):
    ...     import no_such_library
    Traceback (most recent call last):
    monitor.domain.errors.ConfigRefused: pr-monitor serve needs the extra serve; install it by: \
pip install 'mlflow-pr-monitor[serve]' (No module named 'no_such_library')
    """
    try:
        yield
    except ModuleNotFoundError as error:
        install = f"pip install 'mlflow-pr-monitor[{extra}]'"
        message = f"{what} needs the extra {extra}; install it by: {install} ({error})"
        raise ConfigRefused(message) from error
