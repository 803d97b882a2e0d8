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
    config. ``table`` is a table or view, ``name`` or ``schema.name``. The predicted class comes
    from ``columns.predicted`` (flagged where it is ``positive``) or from ``columns.score``
    (flagged where it is at least ``threshold``), never from both. A predicted value that is
    neither ``positive`` nor ``negative`` is a bad row; if more than ``bad_rows_max`` are, the
    predictions are refused.

    ``time_unit`` says what the numbers of a time column count since 1970 (UTC). ``time_zone`` is
    the zone of times that name none.

    ``timeout`` is how long one reading may take, and each statement of it; then the round waits,
    and other monitors go on. ``grace`` is how long a round waits, from its first look, for
    predictions that are missing or cannot be used as they are; after that it is abandoned, with a
    notice. It never waits beyond the next slot. Without it: a quarter of the window, at least 6
    hours.
    """

    kind: Literal["sql"] = "sql"
    url: Annotated[str, AfterValidator(_address), Field(repr=False)]  # may hold a password
    table: Annotated[str, Field(min_length=1)]

    @property
    def has_truths(self) -> bool:
        """Whether labels by column can be read where the predictions are."""
        return True
