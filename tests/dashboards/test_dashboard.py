"""Each panel of the dashboard asks what the views have, and names what they return."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.dashboards import grafana
from tests.rounds.scene import MONDAY

VARIABLES = {"monitor": "mail", "basis": "pooled"}
SINCE, UNTIL = MONDAY - timedelta(days=30), datetime(2026, 1, 1, tzinfo=UTC)
PANELS = grafana.panels()
TITLES = [panel["title"] for panel in PANELS]


def sql_of(panel, **changes):
    [target] = panel["targets"]
    return grafana.expanded(target["rawSql"], VARIABLES | changes, SINCE, UNTIL)


def asked(reader, sql):
    with reader.connect() as connection:
        return connection.exec_driver_sql(sql).mappings().all()


def named(panel):
    """Columns that a panel expects: those it formats, fills to, and puts into links."""
    overrides = panel["fieldConfig"]["overrides"]
    formatted = {override["matcher"]["options"] for override in overrides}
    properties = [each for override in overrides for each in override["properties"]]
    filled = {each["value"] for each in properties if each["id"] == "custom.fillBelowTo"}
    linked = set(re.findall(r"\$\{__data\.fields\.(\w+)", json.dumps(panel["fieldConfig"])))
    return formatted | filled | linked


@pytest.mark.parametrize("panel", PANELS, ids=TITLES)
@pytest.mark.parametrize("basis", ["pooled", "round"])
def test_a_panel_gets_rows_with_the_columns_that_it_names(reader, panel, basis):
    rows = asked(reader, sql_of(panel, basis=basis))

    assert rows
    assert named(panel) <= set(rows[0])


@pytest.mark.parametrize(
    "panel", [panel for panel in PANELS if "slot as time" in panel["targets"][0]["rawSql"]]
)
def test_a_curve_comes_in_the_order_of_time_with_its_gaps(reader, panel):
    rows = asked(reader, sql_of(panel))

    times = [row["time"] for row in rows]
    assert next(iter(rows[0])) == "time"
    assert times == sorted(times)
    assert all(at.tzinfo is not None for at in times)
    if "from round_results" in sql_of(panel):
        assert len(rows) == 7
        abandoned = {value for name, value in rows[2].items() if name not in {"time", "flagged"}}
        assert abandoned <= {None, "stale"}


def test_panels_of_a_monitor_ask_for_it_alone_whatever_its_name(reader):
    strange = {"monitor": "o'mail"}
    of_one = [panel for panel in PANELS if "${monitor:sqlstring}" in json.dumps(panel["targets"])]

    found = {panel["title"]: asked(reader, sql_of(panel, **strange)) for panel in of_one}

    assert len(of_one) == len(PANELS) - 6
    assert set(map(len, found.values())) == {0}


def test_the_choice_of_monitors_holds_those_with_a_round_in_the_time_shown(reader):
    variables = {each["name"]: each for each in grafana.dashboard()["templating"]["list"]}
    query = variables["monitor"]["query"]

    names = asked(reader, grafana.expanded(query, {}, SINCE, UNTIL))
    before = asked(reader, grafana.expanded(query, {}, SINCE, SINCE + timedelta(days=1)))

    assert ([row["monitor"] for row in names], before) == (["mail"], [])


def test_every_variable_that_a_panel_uses_is_one_of_the_dashboard():
    content = grafana.dashboard()
    variables = {each["name"] for each in content["templating"]["list"]}

    used = set(re.findall(r"\$\{(\w+)", json.dumps(content["panels"])))

    own = {name for name in used if not name.startswith("__")}
    assert own == {"store", "monitor", "basis", "mlflow", "pages"} == variables
