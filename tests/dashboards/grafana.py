"""The dashboard, and what Grafana does with the SQL of a panel before a database gets it."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "grafana"
DASHBOARD = FOLDER / "dashboards" / "pr-monitor.json"

_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::(?P<format>\w+))?\}")
_TIME_FILTER = re.compile(r"\$__timeFilter\((?P<column>[^)]*)\)")


def dashboard() -> dict[str, Any]:
    """Read the dashboard as it is shipped."""
    content: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return content


def panels() -> list[dict[str, Any]]:
    """All panels that ask the store something."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def expanded(sql: str, variables: Mapping[str, str], since: datetime, until: datetime) -> str:
    """Put in variables, as Grafana's pages do, and then the time range, as its backend does.

    ``${name:sqlstring}`` becomes a text in quotes, ``${name}`` the bare value, and
    ``$__timeFilter(column)`` a ``between`` of two times.
    """
    with_values = _VARIABLE.sub(lambda found: _value(found, variables), sql)
    between = f"between '{since.isoformat()}' and '{until.isoformat()}'"
    return _TIME_FILTER.sub(lambda found: f"{found['column']} {between}", with_values)


def _value(match: re.Match[str], variables: Mapping[str, str]) -> str:
    value = variables[match["name"]]
    if match["format"] == "sqlstring":
        quoted = value.replace("'", "''")
        return f"'{quoted}'"
    return value
