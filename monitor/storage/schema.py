"""Upgrades the store's schema, and refuses stores with another schema."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, String, column, func, inspect, select, table

from monitor.domain.errors import SchemaMismatch, SchemaNewer
from monitor.storage.tables import store

if TYPE_CHECKING:
    from alembic.config import Config as AlembicConfig

    from monitor.storage.database import Database

VERSION_TABLE = "monitor_schema_version"
_BEFORE_RELEASE = "monitor_alembic_version"
"""Version table of development versions before 0.1.0."""
_MIGRATING = 0x6D6F6E69746F72  # "monitor": names the lock below


def migrations_folder() -> Path:
    """Return the folder of the migrations: inside the wheel, or at the top of a checkout."""
    shipped = Path(str(files("monitor"))) / "migrations"
    return shipped if shipped.is_dir() else Path(str(files("monitor"))).parent / "migrations"


def alembic_config(connection: Connection | None = None) -> AlembicConfig:
    """Return Alembic's settings, for our commands and for its command line."""
    from alembic.config import Config as AlembicConfig  # noqa: PLC0415  0.1 s, rarely needed

    config = AlembicConfig()
    config.set_main_option("script_location", str(migrations_folder()))
    config.attributes["connection"] = connection
    return config


def upgrade(database: Database) -> None:
    """Create or upgrade all tables and views, in one transaction."""
    from alembic import command  # noqa: PLC0415

    with database.write() as connection:
        if not database.is_sqlite:  # an empty store has no row that two workers could lock
            connection.execute(select(func.pg_advisory_xact_lock(_MIGRATING)))
        _refuse_unknown(connection, database)
        if _current(connection) != _head():  # recreated views would lose their grants
            command.upgrade(alembic_config(connection), "head")


def check(database: Database) -> None:
    """Raise `SchemaMismatch` unless the store has exactly this program's schema."""
    with database.read() as connection:
        current, head = _current(connection), _head()
        if current == head:
            return
        _refuse_unknown(connection, database)
    what = (
        "holds no tables yet" if current is None else f"has schema {current}, this program {head}"
    )
    message = f"the store {database.shown} {what}; run: pr-monitor db upgrade"
    raise SchemaMismatch(message)


def ready(database: Database) -> None:
    """Create the schema in an empty store; raises `SchemaMismatch` for any other schema."""
    with database.read() as connection:
        empty = _current(connection) is None
        _refuse_unknown(connection, database)
    if empty:
        upgrade(database)
    check(database)  # also after an upgrade: another program may have made the tables meanwhile


def store_id(connection: Connection) -> str:
    """Read the id of this store, assigned at its creation."""
    return str(connection.execute(select(store.c.id)).scalar_one())


def current_revision(database: Database) -> str | None:
    """Read the store's schema revision; None if it has no schema."""
    with database.read() as connection:
        return _current(connection)


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version = table(VERSION_TABLE, column("version_num", String))
    value: str | None = connection.scalar(select(version.c.version_num))
    return value


def revisions() -> list[str]:
    """Return this program's schema revisions, oldest first, from the migrations' file names."""
    scripts = (migrations_folder() / "versions").glob("[0-9]*_*.py")
    return sorted(path.name.partition("_")[0] for path in scripts)


def _head() -> str:
    migrations = revisions()
    if not migrations:
        message = f"no migrations in {migrations_folder()}: the installation is broken"
        raise SchemaMismatch(message)
    return migrations[-1]


def _refuse_unknown(connection: Connection, database: Database) -> None:
    result = _current(connection)
    if result is None and inspect(connection).has_table(_BEFORE_RELEASE):
        message = (
            f"the store {database.shown} was made by a development version before 0.1.0, which "
            "this version does not read. Keep it, name another one in the config, and fill that: "
            "pr-monitor backfill"
        )
        raise SchemaMismatch(message)
    if result is not None and result not in revisions():
        message = (
            f"the store {database.shown} has schema {result}, which this version does not know: "
            "it was upgraded by a newer mlflow-pr-monitor. Install that version again"
        )
        raise SchemaNewer(message)
