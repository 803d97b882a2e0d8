"""What Spark raises, in our words."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from monitor.domain.errors import MonitorError, SourceRefused, SourceUnavailable
from monitor.domain.masking import masked, secrets_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.plugins.spark.settings import SparkSettings

_NOT_ALLOWED = re.compile(
    r"permission denied|access ?denied|AccessControl|INSUFFICIENT_PERMISSIONS|not authorized"
    r"|unauthorized|PERMISSION_DENIED",
    re.IGNORECASE,
)
_NOT_THERE = re.compile(
    r"TABLE_OR_VIEW_NOT_FOUND|PATH_NOT_FOUND|UNABLE_TO_INFER_SCHEMA|SCHEMA_NOT_FOUND"
)
_NO_JAVA = re.compile(r"JAVA_GATEWAY_EXITED|JAVA_HOME|No such file or directory: 'java'")
_REFUSED = re.compile(r"^(Analysis|Parse)Exception|DATA_SOURCE_NOT_FOUND")
_CHANGED = re.compile(r"FILE_NOT_EXIST|FileNotFoundException|does not exist", re.IGNORECASE)
_ENDED = re.compile(
    r"Py4JNetwork|Connection refused|ConnectionRefused|stopped SparkContext|Answer from Java side"
    r"|SparkContext was shut down",
    re.IGNORECASE,
)
_LONGEST = 300  # characters of Spark's message


@contextmanager
def as_ours(location: str, settings: SparkSettings, setting: str | None = None) -> Iterator[None]:
    """Raise errors of the block as ours.

    setting: What the config names the rows by, where that is not a setting of the source.

    Raises `SourceRefused` if there is no such table, this user may not read it, or what reads it is
    not installed; `SourceUnavailable` if anything else went wrong, most of which passes.
    """
    try:
        yield
    except MonitorError:
        raise
    except ImportError as error:
        message = (
            f"{location} needs the extra spark: pip install 'mlflow-pr-monitor[spark]' ({error})"
        )
        raise SourceRefused(message, is_public=True) from error
    except Exception as error:  # noqa: BLE001  Spark's, py4j's, grpc's: there is no common base
        raise _ours(
            location, settings, setting, error
        ) from None  # its text may hold keys of the config


def _ours(
    location: str, settings: SparkSettings, setting: str | None, error: Exception
) -> MonitorError:
    whole = f"{type(error).__name__} {error}"
    answer = _error_text(error, settings)
    if _NO_JAVA.search(whole):
        message = f"{location}: Spark needs Java 17 or newer, and did not start: {answer}"
        return SourceRefused(message, is_public=True)
    if _NOT_ALLOWED.search(whole):
        message = f"{location}: this user may not read it: {answer}; it is tried again"
        return SourceRefused(message)
    if _NOT_THERE.search(whole):
        setting = setting or f"source.{'path' if settings.table is None else 'table'}"
        message = f"{location} is not there ({answer}); correct {setting}, or write to it"
        return SourceRefused(message, is_public=True)
    if _REFUSED.search(whole):
        return SourceRefused(f"{location} cannot be read: {answer}")
    why = "Spark's driver has ended" if _ENDED.search(whole) else "cannot be read now"
    if _CHANGED.search(whole):
        why = "files of it went while they were read"
    return SourceUnavailable(f"{location}: {why}: {answer}; it is tried again")


def _error_text(error: Exception, settings: SparkSettings) -> str:
    """Give the telling line of an error, without the secrets of the config."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Of errors that come through Java the first line names the call, the second what went wrong.
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = [lines[0], lines[1].removeprefix(": ")][1:]
    line = (lines or [type(error).__name__])[0]
    options = (option.partition("=")[2] for option in (settings.remote or "").split(";")[1:])
    line = masked(line, {*secrets_of(settings.config), *options})
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
