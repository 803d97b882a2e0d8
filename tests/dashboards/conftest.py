"""A store on PostgreSQL with a round in each state, and the user that dashboards read it by."""

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from monitor.storage import schema
from monitor.storage.database import Database
from tests.dashboards.grafana import FOLDER
from tests.storage.released.write import play


@pytest.fixture(scope="session")
def reader(postgres_server):
    """Connections of the user that `reader.sql` makes, to a store that no test changes.

    Its monitor `mail` has a round in each state. The file is run twice, as after an upgrade.
    """
    owner = create_engine(postgres_server, isolation_level="AUTOCOMMIT")
    with owner.connect() as connection:
        connection.exec_driver_sql("create database dashboards")
    owner.dispose()
    url = make_url(postgres_server).set(database="dashboards")
    store = Database(url.render_as_string(hide_password=False))
    schema.ready(store)
    play(store)
    for _ in range(2):
        with store.engine.begin() as connection:
            connection.exec_driver_sql((FOLDER / "reader.sql").read_text())
    store.close()
    engine = create_engine(url.set(username="pr_monitor_reader"))
    yield engine
    engine.dispose()
