"""Content of an item as shown to people: texts and other kinds, by column name.

A value other than text is a mapping, ready for JSON, with its ``kind`` and either its ``value`` or
a ``problem``: a sentence on why it cannot be shown.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Literal

Kind = Literal["text", "json", "image", "html", "link"]
"""How a column may be shown; several columns together form a ``table``."""

Value = str | Mapping[str, Any]
Shown = Mapping[str, Value]

MOST_BYTES = 1_000_000  # Of a picture: it lies in the store until its round takes no more labels

_FIRST_BYTES = (
    ("image/png", (b"\x89PNG\r\n\x1a\n",)),
    ("image/jpeg", (b"\xff\xd8\xff",)),
    ("image/gif", (b"GIF87a", b"GIF89a")),
)
_WEBP = "image/webp"


def picture(data: bytes, path: str = "") -> Value:
    """Return the value of a picture from its bytes; ``path`` is its location if it was a file."""
    if len(data) > MOST_BYTES:
        return no_picture(f"it has more than {MOST_BYTES // 1_000_000} MB", path)
    media_type = image_type(data)
    if media_type is None:
        return no_picture("it is not a PNG, JPEG, GIF or WebP", path)
    url = f"data:{media_type};base64,{base64.b64encode(data).decode()}"
    return {"kind": "image", "value": url, **_from(path)}


def no_picture(why: str, path: str = "") -> Value:
    """Return the value in place of a picture, with the reason why it is missing."""
    return {"kind": "image", "problem": why, **_from(path)}


def _from(path: str) -> dict[str, str]:
    return {"path": path} if path else {}


def image_type(data: bytes) -> str | None:
    """Return a picture's media type from its first bytes; None if the format cannot be shown.

    >>> image_type(b"GIF89a..."), image_type(b"<svg/>")
    ('image/gif', None)
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _WEBP
    names = (name for name, starts in _FIRST_BYTES if data.startswith(starts))
    return next(names, None)


def is_picture(value: Value) -> bool:
    """Whether a value is a picture or replaces a missing one."""
    return not isinstance(value, str) and value["kind"] == "image"


def problem_of(shown: Shown) -> str | None:
    """Return the first problem with an item's content; None if all of it can be shown."""
    problems = (value.get("problem") for value in shown.values() if not isinstance(value, str))
    return next((problem for problem in problems if problem is not None), None)


def picture_bytes(url: str) -> bytes:
    """Return the bytes of a picture from the URL that `picture` made."""
    return base64.b64decode(url.partition(",")[2])


def plain_text(value: Value) -> str:
    r"""Return an item's content as text, for labelers that show only text.

    A picture becomes its path or a description, a table one line for each column.

    >>> plain_text({"kind": "table", "value": [["country", "CZ"], ["amount", "12"]]})
    'country: CZ\namount: 12'
    """
    if isinstance(value, str):
        return value
    if value["kind"] == "image":
        return _picture_text(value)
    if value["kind"] == "table":
        return "\n".join(f"{name}: {text}" for name, text in value["value"])
    return str(value["value"])


def plain_texts(shown: Shown) -> dict[str, str]:
    """Return all content of an item as texts."""
    return {name: plain_text(value) for name, value in shown.items()}


def _picture_text(value: Mapping[str, Any]) -> str:
    if "problem" in value:
        about = f" {value['path']}:" if "path" in value else ""
        return f"(this picture cannot be shown:{about} {value['problem']})"
    if "path" in value:
        return str(value["path"])
    data = picture_bytes(value["value"])
    return f"(a picture: {image_type(data)}, {len(data):,} bytes)"


def text_batches(
    texts: Mapping[str, str], most: int, most_characters: int
) -> Iterator[dict[str, str]]:
    """Split texts into batches that fit one request; a text that is too long gets its own batch."""
    batch: dict[str, str] = {}
    size = 0
    for key, text in texts.items():
        if batch and (len(batch) == most or size + len(text) > most_characters):
            yield batch
            batch, size = {}, 0
        batch[key] = text
        size += len(text)
    if batch:
        yield batch
