"""Where predictions are in a lake, as the config says it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from monitor.domain.errors import SettingRefused
from monitor.sources.table_settings import TableSettings, TextOptions


class LakeSettings(TableSettings):
    """Where predictions are in a Delta or Iceberg table, and how to read them.

    ``delta`` is the folder of a Delta table, on this machine or in a store of objects
    (``s3://bucket/predictions``), and ``storage`` what deltalake is to know of that store.
    ``iceberg`` is a table of an Iceberg catalog, such as ``mail.predictions``, and ``catalog``
    what pyiceberg is to know of the catalog and of the store of objects behind it.

    Each round reads one snapshot of the table, whose id is stored with it.
    """

    kind: Literal["lake"] = "lake"
    delta: str | None = None
    storage: TextOptions = Field(default_factory=dict, repr=False)  # may hold keys
    iceberg: str | None = None
    catalog: TextOptions = Field(default_factory=dict, repr=False)

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
        if self.iceberg is not None:
            check_named(self.iceberg, "iceberg")
        if self.iceberg is not None and not self.catalog:
            message = "iceberg needs catalog: its type, its uri, and what else pyiceberg is to know"
            raise SettingRefused(setting="catalog", why=message)
        return self

    @property
    def table_setting(self) -> str:
        """Which setting names the table."""
        return "delta" if self.iceberg is None else "iceberg"


def check_named(table: str, setting: str) -> None:
    """Refuse what no catalog can have as a table."""
    if not all(table.split(".")) or "." not in table:
        message = (
            f"{table!r} is not a table of a catalog; write its namespace and its name, "
            "such as mail.predictions"
        )
        raise SettingRefused(setting=setting, why=message)
