"""Settings of ``source.columns.show``, and conversion of column values to shown content."""

from __future__ import annotations

import base64
import binascii
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_validator

from monitor.domain.errors import SettingRefused, SourceRefused
from monitor.domain.setting_types import Settings
from monitor.domain.shown import MOST_BYTES, Kind, Shown, Value, no_picture, picture
from monitor.domain.visible import visible, visible_lines
from monitor.files.duckdb_sql import quoted

_WITH_BYTES = re.compile(r"STRUCT\(bytes BLOB\b")
_LONGEST_PATH = 1000
_DATA_URL = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)


class ShownColumn(Settings):
    """A column to show as another kind than text, or several columns to show as one table.

    An ``image`` is bytes, a data URL, or the path of a file below ``folder``, which is relative
    to the config. A ``table`` has a row for each of its columns. ``name`` is the heading.
    """

    column: str | None = None
    kind: Kind = "text"
    folder: str | None = None
    table: Annotated[tuple[str, ...], Field(min_length=1, max_length=50)] | None = None
    name: str | None = None

    @model_validator(mode="after")
    def _column_or_table(self) -> ShownColumn:
        if (self.column is None) is (self.table is None):
            message = "expected either a column with its kind, or a table of columns"
            raise ValueError(message)
        if self.table is not None and self.kind != "text":
            message = "a table shows its columns as text; remove kind"
            raise SettingRefused(setting="kind", why=message)
        if self.folder is not None and self.kind != "image":
            message = "only a column of kind: image has files in a folder; remove it"
            raise SettingRefused(setting="folder", why=message)
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (self.column,) if self.column is not None else self.table or ()

    @property
    def is_text(self) -> bool:
        """Whether it is one column, shown as text."""
        return self.table is None and self.kind == "text"

    @property
    def heading(self) -> str:
        """The heading above it: ``name``, or the columns."""
        return self.name or ", ".join(self.columns)


def _is_section(value: object) -> str:
    """Choose by type, so that problems of a section are reported under it."""
    return "section" if isinstance(value, dict | ShownColumn) else "name"


Entry = Annotated[
    Annotated[str, Tag("name")] | Annotated[ShownColumn, Tag("section")], Discriminator(_is_section)
]
Show = tuple[Entry, ...]


def listed(show: Show) -> list[ShownColumn]:
    """Return all entries as `ShownColumn`."""
    return [ShownColumn(column=one) if isinstance(one, str) else one for one in show]


class ShownRows:
    """Converts rows of a source to shown content."""

    def __init__(self, show: Show, base_folder: Path) -> None:
        self._entries = listed(show)
        self._base_folder = base_folder

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """The columns to read, in order, and whether each has pictures."""
        return [(name, one.kind == "image") for one in self._entries for name in one.columns]

    def check(self) -> None:
        """Raise `SourceRefused` if a folder of pictures does not exist."""
        for one in self._entries:
            folder = None if one.folder is None else self._base_folder / one.folder
            if folder is not None and not folder.is_dir():
                message = (
                    f"{folder} (columns.show, folder of {one.column!r}) is not a folder; mount or "
                    "create it, or name the one that the pictures are in"
                )
                raise SourceRefused(message)

    def of(self, values: Sequence[Any]) -> Shown:
        """Return the shown content from the values of a row, in the order of `columns`."""
        coming = iter(values)
        return {one.heading: self._value(one, coming) for one in self._entries}

    def _value(self, shown_column: ShownColumn, coming: Iterator[Any]) -> Value:
        if shown_column.table is not None:
            return {
                "kind": "table",
                "value": [[visible(name), _text(next(coming))] for name in shown_column.table],
            }
        value = next(coming)
        if shown_column.kind == "image":
            folder = (
                None if shown_column.folder is None else self._base_folder / shown_column.folder
            )
            return _picture(value, folder)
        text = _text(value)
        return text if shown_column.kind == "text" else {"kind": shown_column.kind, "value": text}


def read_as(column: str, kind: str, *, is_picture: bool) -> str:
    """Return SQL that reads a column as text, or as bytes, up to one more than the limit."""
    if is_picture and _WITH_BYTES.match(kind):  # as datasets of Hugging Face have pictures
        return f"{quoted(column)}.bytes[1:{MOST_BYTES + 1}]"
    if is_picture and kind == "BLOB":
        return f"{quoted(column)}[1:{MOST_BYTES + 1}]"
    return f"cast({quoted(column)} as varchar)"


def _text(value: str | None) -> str:
    return "" if value is None else visible_lines(value)


def _picture(value: bytes | str | None, folder: Path | None) -> Value:
    """Return a picture from bytes, a data URL or a path; an empty text if there is no value."""
    if not value:
        return ""
    if isinstance(value, bytes):
        return picture(value)
    return _of_data_url(value) if value[:5].lower() == "data:" else _of_path(value, folder)


def _of_path(value: str, folder: Path | None) -> Value:
    path = visible(value[:_LONGEST_PATH])
    if folder is None:
        return no_picture("it is named by a path, and the config names no folder for it", path)
    try:
        return picture(_read_below(folder, value), path)
    except ValueError as error:
        return no_picture(str(error), path)
    except OSError as error:
        return no_picture((error.strerror or str(error)).lower(), path)


def _of_data_url(url: str) -> Value:
    start = _DATA_URL.match(url)
    if start is None:
        return no_picture("its data URL is not in base64")
    try:
        return picture(base64.b64decode(url[start.end() :], validate=True))
    except (binascii.Error, ValueError):
        return no_picture("its data URL is not complete base64")


def _read_below(folder: Path, path: str) -> bytes:
    """Read a file below a folder, up to one byte more than the limit.

    Raises `ValueError` if ``..`` or a link leads out of the folder, or if it is not a file.
    """
    root = os.path.realpath(folder, strict=True)
    file = os.path.realpath(os.path.join(root, path), strict=True)  # noqa: PTH118  as above
    if os.path.commonpath([root, file]) != root:
        message = "its path leads out of the folder of pictures"
        raise ValueError(message)
    # Non-blocking, since opening a pipe would wait for a writer.
    opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with open(opened, "rb") as stream:  # noqa: PTH123  what was opened already
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            message = "it is not a file"
            raise ValueError(message)
        return stream.read(MOST_BYTES + 1)
