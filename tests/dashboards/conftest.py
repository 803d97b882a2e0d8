"""A store on PostgreSQL with a round in each state, and the user that dashboards read it by."""

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from monitor.storage import schema
from monitor.storage.database import Database
from tests.dashboards.grafana import FOLDER
from tests.servers import new_database
from tests.storage.released.write import play


@pytest.fixture(scope="session")
def reader(postgres_server):
    """Connections of the user that `reader.sql` makes, to a store that no test changes.

    Its monitor `mail` has a round in each state. The file is run twice, as after an upgrade.
    """
    url = new_database(postgres_server, "dashboards")
    store = Database(url)
    schema.ready(store)
    play(store)
    for _ in range(2):
        with store.engine.begin() as connection:
            connection.exec_driver_sql((FOLDER / "reader.sql").read_text())
    store.close()
    engine = create_engine(make_url(url).set(username="pr_monitor_reader"))
    yield engine
    engine.dispose()
