"""What the libraries of table formats, and DuckDB over their streams, raise, in our words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from monitor.domain.errors import MonitorError, SnapshotMissing, SourceRefused, SourceUnavailable
from monitor.domain.masking import masked, secrets_of

if TYPE_CHECKING:
    from monitor.plugins.lake.settings import LakeSettings

_NO_TABLE = frozenset({"TableNotFoundError", "NoSuchTableError", "NoSuchNamespaceError"})
_NO_BUCKET = re.compile(r"NoSuchBucket|NO_SUCH_BUCKET|ContainerNotFound")
_UNUSABLE = re.compile(
    r"CatalogRefused|Generic Config error|Invalid Access Key|service account file"
)
_NOT_ALLOWED = re.compile(
    r"UnauthorizedError|ForbiddenError|OAuthError|AccessDenied|ACCESS_DENIED|InvalidAccessKeyId"
    r"|SignatureDoesNotMatch|AuthenticationFailed|AuthorizationFailure"
)
_MISSING = re.compile(
    r"LogSegment end version|Object at location \S+ not found|NoSuchKey"
    r"|(?:Path does not exist|Failed to open local file) '[^']*(?<!\.metadata\.json)'"
)
"""Of files of a snapshot, and of lists of them; a table's own metadata is none of these."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m|↳")
_LONGEST = 300  # characters of another program's message


@contextmanager
def as_ours(location: str, settings: LakeSettings, setting: str | None = None) -> Iterator[None]:
    """Raise errors of the block as ours.

    setting: What the config names the table by, where that is not a setting of the source.

    Raises `SourceRefused` if there is no such table or bucket, if settings or credentials do not
    lead to it, or if what reads it is not installed; `SnapshotMissing` if files of a snapshot are
    not there; `SourceUnavailable` if anything else went wrong, most of which passes.
    """
    try:
        yield
    except MonitorError:
        raise
    except ImportError as error:
        extra = "delta" if settings.iceberg is None else "iceberg"
        message = (
            f"{location} needs the extra {extra}: pip install 'mlflow-pr-monitor[{extra}]' "
            f"({error})"
        )
        raise SourceRefused(message, is_public=True) from error
    except Exception as error:  # noqa: BLE001  stores, catalogs, formats, DuckDB: no common base
        raise _ours(
            location, settings, setting, error
        ) from None  # its text may hold keys of the config


def _ours(
    location: str, settings: LakeSettings, setting: str | None, error: Exception
) -> MonitorError:
    table, access = ("delta", "storage") if settings.iceberg is None else ("iceberg", "catalog")
    line = _cleaned(str(error), settings)
    text = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
    typed_line = f"{type(error).__name__} {line}"
    if type(error).__name__ in _NO_TABLE or _NO_BUCKET.search(typed_line):
        message = (
            f"{location} is not there ({text}); correct {setting or f'source.{table}'}, or make it"
        )
        return SourceRefused(message, is_public=True)
    if _UNUSABLE.search(typed_line):
        return SourceRefused(f"{location} cannot be reached by source.{access}: {text}; correct it")
    if _NOT_ALLOWED.search(typed_line):
        return SourceRefused(
            f"{location}: these credentials may not read it: {text}. Correct source.{access}, or "
            "what they may do; it is tried again"
        )
    if _MISSING.search(typed_line):
        message = (
            f"files of a snapshot of {location} are not there any more ({text}); the newest one is "
            "taken at the next try"
        )
        return SnapshotMissing(message)
    message = f"{location} cannot be read now: {text}; it is tried again"
    return SourceUnavailable(message)


def _cleaned(text: str, settings: LakeSettings) -> str:
    """Return a message on one line, without secrets of the config and of signed addresses."""
    line = " ".join(_COLOUR.sub("", text).split())
    return masked(line, secrets_of(settings.storage | settings.catalog))
