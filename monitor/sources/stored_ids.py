"""Ids as a column holds them, so that they can be looked for by its index."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import types

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy.types import TypeEngine

_MOST_INTEGERS = 2**63  # from which on a database takes none


def as_stored(ids: Collection[str], kind: TypeEngine[Any] | None) -> Iterator[object]:
    """Give ids as a column of a type holds them, without those that it cannot hold."""
    for each in sorted(ids):
        if isinstance(kind, types.Integer):
            yield from (number for number in _as_number(each) if abs(number) < _MOST_INTEGERS)
        elif isinstance(kind, types.Numeric):
            yield from map(Decimal, _as_number(each))
        elif isinstance(kind, types.Uuid):
            yield from _as_uuid(each)
        else:
            yield each


def _as_number(text: str) -> Iterator[int]:
    try:
        number = int(text)
    except ValueError:
        return
    if str(number) == text:
        yield number


def _as_uuid(text: str) -> Iterator[UUID]:
    try:
        known = UUID(text)
    except ValueError:
        return
    if str(known) == text:
        yield known
