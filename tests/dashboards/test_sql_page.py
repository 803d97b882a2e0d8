"""The page tables.md names every view and all of its columns, as the databases have them."""

import re

from sqlalchemy import inspect

from monitor.storage.views import NAMES
from tests.pages import page

PAGE = page("tables")


def documented():
    """Columns of each view, from the first cells of the table under its heading."""
    sections = re.findall(r"^## `(\w+)`\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    return {
        view: [
            name
            for cell in re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
            for name in re.findall(r"`(\w+)`", cell)
        ]
        for view, text in sections
    }


def test_the_page_has_the_columns_of_every_view(database):
    with database.read() as connection:
        found = {
            view: [column["name"] for column in inspect(connection).get_columns(view)]
            for view in NAMES
        }

    assert documented() == found


def test_the_queries_of_the_page_run_as_they_stand(database):
    [block] = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    queries = [query for query in block.split(";") if query.strip()]

    with database.read() as connection:
        for query in queries:
            connection.exec_driver_sql(query)

    assert len(queries) == 2
