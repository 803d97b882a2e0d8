"""Alembic environment: works on the connection it is given, or on ``-x url=...``."""

from alembic import context

from monitor.storage import views
from monitor.storage.database import Database
from monitor.storage.pages import page_tables  # noqa: F401  adds its tables to the metadata
from monitor.storage.schema import VERSION_TABLE
from monitor.storage.tables import metadata


def _ours(_object, name, kind, reflected, _compare_to):
    """Leave tables of others alone: the database may be shared with MLflow."""
    return not (kind == "table" and reflected and name not in metadata.tables)


def _run(connection):
    context.configure(
        connection=connection,
        target_metadata=metadata,
        version_table=VERSION_TABLE,
        include_object=_ours,
        compare_type=True,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        views.drop_all(connection)
        context.run_migrations()
        if set(context.get_context().get_current_heads()) == set(context.script.get_heads()):
            views.create_all(connection)


def _connect_and_run():
    given = context.config.attributes.get("connection")
    if given is not None:
        _run(given)
        return
    database = Database(context.get_x_argument(as_dictionary=True)["url"])
    with database.write() as connection:
        _run(connection)
    database.close()


_connect_and_run()
