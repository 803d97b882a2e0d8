"""Ids as a column holds them, so that they can be looked for by its index."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import types

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

_INTEGERS = range(-(2**63), 2**63)
_UNSIGNED = range(2**64)  # MySQL and MariaDB have both


def as_stored(ids: Collection[str], kind: TypeEngine[Any] | None) -> Iterator[object]:
    """Give ids as a column of a type holds them, without those that it cannot hold.

    Without a ``kind`` the column has no type, and each id is given in every form that it may have.
    """
    for each in sorted(ids):
        if kind is None:
            yield from _in_every_form(each)
        elif isinstance(kind, types.Integer):
            allowed = _UNSIGNED if getattr(kind, "unsigned", False) else _INTEGERS
            yield from (number for number in _as_number(each) if number in allowed)
        elif isinstance(kind, types.Numeric):
            yield from map(Decimal, _as_number(each))
        elif isinstance(kind, types.Uuid):
            yield from _as_uuid(each)
        else:
            yield each


def _in_every_form(text: str) -> Iterator[object]:
    yield text
    yield text.encode()
    numbers: list[float] = [number for number in _as_number(text) if number in _INTEGERS]
    try:
        yield from numbers or [float(text)]
    except ValueError:
        return


def _as_number(text: str) -> Iterator[int]:
    try:
        number = int(text)
    except ValueError:
        return
    if str(number) == text:
        yield number


def _as_uuid(text: str) -> Iterator[UUID]:
    try:
        uuid = UUID(text)
    except ValueError:
        return
    if str(uuid) == text:
        yield uuid
