"""The dashboard, and what Grafana does with the SQL of a panel before a database gets it."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "grafana"
DASHBOARD = FOLDER / "dashboards" / "pr-monitor.json"

_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::(?P<format>\w+))?\}")
_TIME_FILTER = re.compile(r"\$__timeFilter\((?P<column>[^)]*)\)")


def dashboard():
    """Read the dashboard as it is shipped."""
    return json.loads(DASHBOARD.read_text())


def panels():
    """All panels that ask the store something."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def expanded(sql, variables, since, until):
    """Put in variables, as Grafana's pages do, and then the time range, as its backend does.

    ``${name:sqlstring}`` becomes a text in quotes, ``${name}`` the bare value, and
    ``$__timeFilter(column)`` a ``between`` of two times.
    """
    with_values = _VARIABLE.sub(lambda found: _value(found, variables), sql)
    between = f"between '{since.isoformat()}' and '{until.isoformat()}'"
    return _TIME_FILTER.sub(lambda found: f"{found['column']} {between}", with_values)


def _value(found, variables):
    value = variables[found["name"]]
    if found["format"] == "sqlstring":
        quoted = value.replace("'", "''")
        return f"'{quoted}'"
    return value
