"""What a round keeps of its source, and the source that is made of it later."""

from datetime import timedelta
from pathlib import Path

import pytest

from monitor.config.opened_source import opened_settings, opened_source
from monitor.domain.errors import SourceRefused
from monitor.domain.settings import RoundSettings, Schedule
from monitor.sources.table_settings import DuckdbSettings, SqlSettings

COLUMNS = {"id": "id", "time": "at", "score": "score", "show": [{"column": "text"}]}
URL = "postgresql+psycopg://ada:{}@{}/shop"


def sql(password="hunter2", host="db", **changes):  # noqa: S107  it is none
    """Return settings of a source in a database."""
    address = {"url": URL.format(password, host), "table": "predictions"}
    return SqlSettings.model_validate(address | {"columns": COLUMNS, "threshold": 0.5} | changes)


def stored(opened):
    """Settings of a round that was opened with this source, as the store has them."""
    return RoundSettings.model_validate_json(
        RoundSettings(
            schedule=Schedule(cron="0 6 * * MON"),
            deadline=timedelta(1),
            late_labels=timedelta(1),
            source=opened.own(),
        ).model_dump_json()
    )


def test_rows_are_read_as_a_round_was_opened_and_with_the_password_of_today():
    today = sql("a-new-one", threshold=0.7, table="archive", timeout="90s")

    settings = opened_settings(stored(sql()), today)

    assert settings == sql("a-new-one", timeout="90s")


def test_a_round_keeps_no_secret_of_its_source():
    assert "hunter2" not in str(sql(where={"link": "https://host/?token=hunter2"}).own())


@pytest.mark.parametrize(
    ("today", "why"),
    [
        (sql(host="elsewhere"), r"source\.url: the config has another value now"),
        (
            DuckdbSettings.model_validate({"path": "a.csv", "columns": COLUMNS, "threshold": 1}),
            r"source\.sql\.url: Field required",
        ),
    ],
    ids=["host", "kind"],
)
def test_a_source_that_cannot_be_made_any_more_refuses_with_the_reason(today, why):
    source = opened_source(stored(sql()), today, Path())

    with pytest.raises(SourceRefused, match=why):
        source.span()
