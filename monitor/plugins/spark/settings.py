"""Where predictions are for Spark, as the config says it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from monitor.domain.errors import SettingRefused
from monitor.sources.table_settings import QueriedSettings, TextOptions


class SparkSettings(QueriedSettings):
    """Where predictions are for Spark, and how to read them.

    ``table`` is a table or view of Spark's catalog, ``path`` a folder, a file or a pattern, or
    several of them, in ``format``; a relative one starts at the config.

    ``master`` is the address of a cluster (``spark://HOST:7077``, ``yarn``, ``k8s://...``,
    ``local[*]``), for which this process starts a session, with ``config`` as its settings.
    ``remote`` is the address of a Spark Connect server (``sc://HOST:15002``). Without both the
    session that this process has is used as it is, or one is started as ``spark-submit`` or the
    files of Spark's own settings say.
    """

    kind: Literal["spark"] = "spark"
    table: Annotated[str, Field(min_length=1)] | None = None
    path: str | Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    format: Literal["parquet", "orc", "delta"] = "parquet"
    master: Annotated[str, Field(min_length=1)] | None = None
    # Not in a repr, since they may hold a token or keys.
    remote: Annotated[str, Field(pattern=r"^sc://.")] | None = Field(default=None, repr=False)
    config: TextOptions = Field(default_factory=dict, repr=False)

    @model_validator(mode="after")
    def _one_location_and_session(self) -> SparkSettings:
        if (self.table is None) == (self.path is None):
            text = "neither is there" if self.table is None else "both are there"
            message = f"name the rows by table or by path; {text}"
            raise ValueError(message)
        if self.path is None and "format" in self.model_fields_set:
            message = "format is that of path; a table knows its own"
            raise SettingRefused(setting="format", why=message)
        if self.master is not None and self.remote is not None:
            message = "master starts a session here, remote uses that of a server; name one"
            raise SettingRefused(setting="remote", why=message)
        if self.master is not None and self.master.startswith("sc://"):
            message = "this is a Spark Connect server; write it as remote"
            raise SettingRefused(setting="master", why=message)
        if self.config and self.master is None:
            message = (
                "config is for a session that master starts here; what others are set to is theirs"
            )
            raise SettingRefused(setting="config", why=message)
        return self

    @property
    def table_setting(self) -> str:
        """Which setting names the rows."""
        return "path" if self.table is None else "table"

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths, also where one was given; none for a table."""
        return (self.path,) if isinstance(self.path, str) else self.path or ()
