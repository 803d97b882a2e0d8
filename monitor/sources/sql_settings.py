"""Where predictions are in a database, as the config says it."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from monitor.domain.masking import one_at
from monitor.sources.table_settings import QueriedSettings


def _address(value: str) -> str:
    if re.match(r"[a-z][a-z0-9_]*(\+[a-z0-9_]+)?://.", value):
        return value if value.startswith("sqlite") else one_at(value)
    message = (
        "this is no address of a database; write sqlite:///FILE, "
        "postgresql+psycopg://${DB_USER}:${DB_PASSWORD}@HOST/DATABASE or another address that "
        "SQLAlchemy takes"
    )
    raise ValueError(message)


class SqlSettings(QueriedSettings):
    """Where predictions are in a database, and how to read them.

    ``url`` is an address that SQLAlchemy takes; the file of ``sqlite:///FILE`` is relative to the
    config. ``table`` is a table or view, ``name`` or ``schema.name``.
    """

    kind: Literal["sql"] = "sql"
    url: Annotated[str, AfterValidator(_address), Field(repr=False)]  # may hold a password
    table: Annotated[str, Field(min_length=1)]
