"""What people are shown of an item: texts and other kinds, under the names of columns.

What is no text is a mapping, ready for JSON, with its ``kind`` and its ``value``, or a ``problem``:
a sentence on why it cannot be shown.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Literal

Kind = Literal["text", "json", "image", "html", "link"]
"""What a column may be shown as; several columns together are a ``table``."""

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
    """Make a picture to be shown of its bytes; ``path`` is where it was, if it was a file."""
    if len(data) > MOST_BYTES:
        return no_picture(f"it has more than {MOST_BYTES // 1_000_000} MB", path)
    media_type = image_type(data)
    if media_type is None:
        return no_picture("it is not a PNG, JPEG, GIF or WebP", path)
    url = f"data:{media_type};base64,{base64.b64encode(data).decode()}"
    return {"kind": "image", "value": url, **_from(path)}


def no_picture(why: str, path: str = "") -> Value:
    """Return in the place of a picture why it is missing."""
    return {"kind": "image", "problem": why, **_from(path)}


def _from(path: str) -> dict[str, str]:
    return {"path": path} if path else {}


def image_type(data: bytes) -> str | None:
    """Recognise a picture by its first bytes; None if it is not a format that can be shown.

    >>> image_type(b"GIF89a..."), image_type(b"<svg/>")
    ('image/gif', None)
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _WEBP
    names = (name for name, starts in _FIRST_BYTES if data.startswith(starts))
    return next(names, None)


def is_picture(value: Value) -> bool:
    """Whether a value is a picture, or is in the place of one."""
    return not isinstance(value, str) and value["kind"] == "image"


def problem_of(shown: Shown) -> str | None:
    """Explain why part of an item cannot be shown; None if all of it can."""
    problems = (value.get("problem") for value in shown.values() if not isinstance(value, str))
    return next((problem for problem in problems if problem is not None), None)


def picture_bytes(url: str) -> bytes:
    """Bytes of a picture that `picture` made."""
    return base64.b64decode(url.partition(",")[2])


def plain_text(value: Value) -> str:
    r"""Write an item's content as text, for labelers that show only text.

    A picture is its path, or its description; a table has a line for each column.

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
    """Write all that is shown of an item as texts."""
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
    """Cut texts by key into parts that one request can take; a longer text is alone in its part."""
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
