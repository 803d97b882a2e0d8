"""Metrics as a file for the node exporter's textfile collector."""

from __future__ import annotations

import errno
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from monitor.domain.errors import ConfigRefused, TryLater
from monitor.service.web.metrics import PREFIX

_LAST_SUCCESS = f"{PREFIX}last_success_timestamp_seconds"
_READABLE = 0o644  # the exporter is another user


def write_textfile(path: Path, text: str) -> None:
    """Replace the file as a whole: a reader meets either the old one or the new one.

    Raises `ConfigRefused` or `TryLater` if it cannot be written now, or at all.
    """
    try:
        _write_whole(path, text)
    except OSError as error:
        message = f"{path}: metrics cannot be written: {(error.strerror or str(error)).lower()}"
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise (TryLater if is_full else ConfigRefused)(message) from error


def _write_whole(path: Path, text: str) -> None:
    # `prometheus_client.write_to_textfile` leaves the mode to the umask, so that the exporter may
    # not read the file, and opens a name that can be guessed, so that it follows a planted link.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            os.fchmod(stream.fileno(), _READABLE)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def last_success(path: Path) -> datetime | None:
    """Read from the file of an earlier pass when one last ended well; None if it does not say."""
    try:
        text = path.read_text(encoding="utf-8")
        families = list(text_string_to_metric_families(text))
    except (OSError, ValueError):
        return None
    for family in families:
        if family.name == _LAST_SUCCESS and family.samples:
            return datetime.fromtimestamp(family.samples[0].value, tz=UTC)
    return None
