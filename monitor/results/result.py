"""The base of all results: a document that a terminal and a notebook show."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.presentation.table import Table, table_lines

if TYPE_CHECKING:
    import pandas as pd


def dump(value: Any) -> Any:
    """Return a value ready for JSON: results by their values, rows by the names of their fields.

    >>> from monitor.stats.core.counts import Interval
    >>> dump({"at": datetime(2026, 3, 2), "of": (Interval(0.8, 0.7, 0.9),)})
    {'at': '2026-03-02T00:00:00', 'of': [{'point': 0.8, 'low': 0.7, 'high': 0.9}]}
    """
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    named = _named(value)
    if named is not None:
        return {name: dump(each) for name, each in named.items()}
    return [dump(each) for each in value] if isinstance(value, (list, tuple)) else value


def _named(value: Any) -> Mapping[str, Any] | None:
    named: Mapping[str, Any] | None = None
    if hasattr(value, "model_dump"):  # of pydantic, which help does not load
        named = value.model_dump()
    elif hasattr(value, "to_dict"):
        named = value.to_dict()
    elif is_dataclass(value):
        named = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "_asdict"):
        named = value._asdict()
    elif isinstance(value, Mapping):
        named = value
    return named


class Picture:
    """An SVG picture: a notebook shows it, `save` writes it to a file.

    Parameters
    ----------
    svg
        The picture, UTF-8.
    """

    def __init__(self, svg: bytes) -> None:
        self.svg = svg

    def save(self, path: Path | str) -> Path:
        """Write the picture to a file and return its path.

        Raises `OSError` if the file cannot be written.
        """
        Path(path).write_bytes(self.svg)
        return Path(path)

    def _repr_svg_(self) -> str:
        return self.svg.decode()

    def __repr__(self) -> str:
        return f"<SVG picture, {len(self.svg):,} bytes: save(path) writes it to a file>"


class Result(Mapping[str, Any], ABC):
    """What a function of `monitor` found, as text, values or a table.

    It is a mapping of its values: ``result["labels"]`` is ``result.to_dict()["labels"]``.
    """

    @abstractmethod
    def document(self) -> Sequence[str | Table]:
        """Return lines and tables to read, in order; an empty line separates parts."""

    def to_dict(self) -> dict[str, Any]:
        """Return all values, ready for JSON."""
        return {field.name: dump(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the main table."""

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())

    def __repr__(self) -> str:
        return "\n".join(line for part in self.document() for line in _text_lines(part))

    def _repr_html_(self) -> str:
        return "".join(_html(part) for part in self.document() if part)


def _text_lines(part: str | Table) -> Iterable[str]:
    if isinstance(part, Table):
        return table_lines(part.head, part.rows, right=part.right)
    return [part]


def _html(part: str | Table) -> str:
    if not isinstance(part, Table):
        return f"<p>{escape(part)}</p>"
    import pandas as pd  # noqa: PLC0415 - a second that only tables need

    with pd.option_context("display.max_colwidth", None):
        return pd.DataFrame(part.rows, columns=list(part.head)).to_html(index=False, border=0)
