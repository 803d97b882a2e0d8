"""Where predictions are in a lake, as the config says it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from monitor.domain.errors import SettingRefused
from monitor.sources.table_settings import TableSettings


def _as_text(value: object) -> object:
    """Take ``true`` and ``9000`` as what the libraries of the formats read: texts."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


Options = dict[str, Annotated[str, BeforeValidator(_as_text)]]


class LakeSettings(TableSettings):
    """Where predictions are in a Delta or Iceberg table, and how to read them.

    ``delta`` is the folder of a Delta table, on this machine or in a store of objects
    (``s3://bucket/predictions``), and ``storage`` what deltalake is to know of that store.
    ``iceberg`` is a table of an Iceberg catalog, such as ``mail.predictions``, and ``catalog``
    what pyiceberg is to know of the catalog and of the store of objects behind it.

    Each round reads one snapshot of the table, whose id is stored with it.

    The predicted class comes from ``columns.predicted`` (flagged where it is ``positive``) or
    from ``columns.score`` (flagged where it is at least ``threshold``), never from both. A
    predicted value that is neither ``positive`` nor ``negative`` is a bad row; if more than
    ``bad_rows_max`` are, the predictions are refused.

    ``challenger`` names columns of another classifier's decisions on the same predictions, to be
    compared in each round.

    ``timeout`` is how long one reading may take; then the round waits, and other monitors go on.
    ``grace`` is how long a round waits, from its first look, for predictions that are missing or
    cannot be used as they are; after that it is abandoned, with a notice. It never waits beyond
    the next slot. Without it: a quarter of the window, at least 6 hours.
    """

    kind: Literal["lake"] = "lake"
    delta: str | None = None
    storage: Options = Field(default_factory=dict, repr=False)  # may hold keys
    iceberg: str | None = None
    catalog: Options = Field(default_factory=dict, repr=False)

    @model_validator(mode="after")
    def _one_table(self) -> LakeSettings:
        if (self.delta is None) == (self.iceberg is None):
            text = "neither is there" if self.delta is None else "both are there"
            message = f"name one table, by delta or by iceberg; {text}"
            raise ValueError(message)
        for name, owner in (("storage", "delta"), ("catalog", "iceberg")):
            if name in self.model_fields_set and getattr(self, owner) is None:
                message = f"{name} is for tables that {owner} names"
                raise SettingRefused(setting=name, why=message)
        return self

    @model_validator(mode="after")
    def _named_in_a_catalog(self) -> LakeSettings:
        if self.iceberg is None:
            return self
        check_named(self.iceberg, "iceberg")
        if not self.catalog:
            message = "iceberg needs catalog: its type, its uri, and what else pyiceberg is to know"
            raise SettingRefused(setting="catalog", why=message)
        return self

    @property
    def has_truths(self) -> bool:
        """Whether labels by column can be read where the predictions are."""
        return True


def check_named(table: str, setting: str) -> None:
    """Refuse what no catalog can have as a table."""
    if not all(table.split(".")) or "." not in table:
        message = (
            f"{table!r} is no table of a catalog; write its namespace and its name, "
            "such as mail.predictions"
        )
        raise SettingRefused(setting=setting, why=message)
