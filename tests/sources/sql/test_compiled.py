"""The statements of each database as they were reviewed.

`python -m tests.sources.sql.test_compiled` writes them anew.

Those are here that the tests beside this one do not run (`RUN`). What SQLAlchemy brings no dialect
for is compiled by its general one, with that database's quotes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy
from sqlalchemy import Boolean, DateTime, Float, Integer, LargeBinary, String, column
from sqlalchemy import table as table_of
from sqlalchemy.dialects import mssql, mysql, postgresql
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import IdentifierPreparer

from monitor.domain.model import BandEdges, Window
from monitor.sources.dialects import DIALECTS, RUN
from monitor.sources.shared_query import SharedQuery
from monitor.sources.sql_query import Query, Scan
from monitor.sources.sql_table import TableInfo
from monitor.sources.table_settings import SqlSettings
from monitor.sources.table_truths import joins, named_truth, padded

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

FOLDER = Path(__file__).parent / "compiled"
WEEK = Window(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC))
TWO = BandEdges().strata()
STRATA = BandEdges(flagged=(0.8,), passed=(0.1,)).strata()
TYPES: dict[str, TypeEngine[Any]] = {
    "mail id": String(),
    "scored_at": DateTime(timezone=True),
    "score": Float(),
    "order": Boolean(),
    "version": String(),
    "country": String(),
    "text": String(),
    "face": LargeBinary(),
    "tenant": Integer(),
}
SETTINGS = SqlSettings.model_validate(
    {
        "url": "postgresql://127.0.0.1/mails",
        "table": "mails.scored",
        "columns": {
            "id": "mail id",
            "time": "scored_at",
            "score": "score",
            "predicted": "order",
            "model_version": "version",
            "segments": ["country"],
        },
        "where": {"tenant": [3, 4]},
    }
)


class Backticks(IdentifierPreparer):
    def __init__(self, dialect):
        super().__init__(dialect, initial_quote="`", escape_quote="`")


def general(name, preparer=IdentifierPreparer):
    dialect = DefaultDialect(paramstyle="named")
    dialect.name = name
    dialect.identifier_preparer = preparer(dialect)
    dialect.supports_native_boolean = True
    return dialect


def named(dialect, name):
    dialect.name = name
    return dialect


OWN: dict[str, Any] = {
    "mysql": mysql.dialect,
    "mssql": mssql.dialect,
    "redshift": lambda: named(postgresql.dialect(), "redshift"),
    "bigquery": lambda: general("bigquery", Backticks),
    "databricks": lambda: general("databricks", Backticks),
}
ENGINES = {name: OWN.get(name, partial(general, name)) for name in DIALECTS if name not in RUN}


def query_for(name):
    columns = (column(name, kind) for name, kind in TYPES.items())
    clause = table_of("scored", *columns, schema="mails")
    dialect = DIALECTS[name]
    found = TableInfo("mails", clause, TYPES, frozenset(TYPES), dialect, dialect.sees_one_state)
    times = found.times(SETTINGS)
    assert times is not None
    return Query(found, SETTINGS, times, [("text", False), ("face", True)])


def statements(name):
    query = query_for(name)
    bounds = {0: "g", 1: "00aabbccddee", 2: "0123456789ab", 3: "000fffffffff"}
    one = SharedQuery([Scan(None, query, STRATA, 9)])
    return {
        "counts of the window": one.tally(WEEK),
        "counts by segment": one.values_of(0, WEEK, "v7"),
        "draw": one.draw(WEEK, "s33d", [bounds], "v7"),
        "rows of the window": query.count(WEEK),
        "rows without a time": query.untimed(),
        "rows with a time": query.timed(),
        "a time without a zone": query.naive(),
        "values that the config does not name": query.unknown(WEEK, 20),
        "span": query.span(),
        "what people see": query.show(["a", "b"], WEEK),
        "times of some ids": query.first_times(["a", "b"], WEEK),
        "truth of some ids": query.truths("order", ["a", "b"], timed=True),
        "values of the truth": query.values("order"),
        "first ids": query.ids(3, "first"),
        **of_a_census(query),
        "rows that another spelling leaves out": query.excluded(WEEK, "tenant"),
        **(for_two_monitors(query, bounds) if DIALECTS[name].greatest else {}),
    }


def of_a_census(query):
    truth = named_truth(query.truths("order", None, timed=True), query)
    singles, several = joins(query, WEEK, STRATA, "v7", truth, ["nan"])
    return {
        "ids with blanks around them": padded(query, WEEK),
        "items by what the truth has of them": singles,
        "items of which the truth has several values": several,
    }


def for_two_monitors(query, bounds):
    shared = SharedQuery([Scan(None, query, strata, 9) for strata in (STRATA, TWO)])
    return {
        "counts for two monitors": shared.tally(WEEK),
        "counts by segment for two monitors": shared.values_of(0, WEEK, "v7"),
        "draw for two monitors": shared.draw(WEEK, "s33d", [bounds, bounds], "v7"),
    }


def page(name):
    engine = ENGINES[name]()
    parts = [f"-- {name}. Compiled, not run.", *(f"{one};" for one in DIALECTS[name].begin)]
    for what, statement in statements(name).items():
        compiled = statement.compile(dialect=engine, compile_kwargs={"render_postcompile": True})
        parts.append(f"\n-- {what}\n{compiled};")
    lines = "\n".join(parts).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


@pytest.mark.parametrize("name", ENGINES)
def test_the_statements_are_those_that_were_reviewed(name):
    path = FOLDER / f"{name}.sql"
    reviewed = path.read_text() if path.exists() else ""

    assert page(name) == reviewed, f"python -m {__spec__.name} writes them anew: review them"


def test_statements_are_compiled_by_this_version():
    assert sqlalchemy.__version__ >= "2.1"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in ENGINES:
        (FOLDER / f"{each}.sql").write_text(page(each))
