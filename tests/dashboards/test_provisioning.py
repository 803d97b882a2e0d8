"""Grafana's files name the same store, user and folder, and the dashboard fits Grafana's schema."""

import json
import re

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from tests import pages
from tests.dashboards import grafana


@pytest.fixture(scope="module")
def model():
    """The dashboard as Grafana's own types have it."""
    register_default_plugins()
    return Dashboard.from_json(grafana.dashboard())


def provisioned(kind):
    return yaml.safe_load((grafana.FOLDER / "provisioning" / kind / "pr-monitor.yaml").read_text())


def test_the_data_source_is_the_one_that_the_dashboard_begins_with():
    [source] = provisioned("datasources")["datasources"]
    variables = {each["name"]: each for each in grafana.dashboard()["templating"]["list"]}

    assert variables["store"]["current"]["value"] == source["uid"]
    assert variables["store"]["query"] == source["type"]
    kinds = re.findall(r'"type": "(grafana-\w+[^"]*)"', grafana.DASHBOARD.read_text())
    assert set(kinds) == {source["type"]}


def test_the_user_is_the_one_who_only_reads_and_no_password_is_in_a_file():
    [source] = provisioned("datasources")["datasources"]

    assert f"create role {source['user']} login" in (grafana.FOLDER / "reader.sql").read_text()
    assert source["secureJsonData"] == {"password": "$PR_MONITOR_READER_PASSWORD"}


def test_the_page_puts_the_dashboard_where_grafana_looks_for_it():
    [provider] = provisioned("dashboards")["providers"]

    page = pages.page("tables")

    assert f"-t {provider['options']['path']} deploy/grafana/dashboards/pr-monitor.json" in page


def test_grafanas_types_keep_all_that_the_dashboard_says(model):
    kept = json.loads(JSONEncoder().encode(model))

    assert list(lost(grafana.dashboard(), kept, "")) == []


def lost(said, kept, place):
    """Yield what a schema does not know, or has otherwise; it may add what it knows as default."""
    if isinstance(said, dict):
        for name, value in said.items():
            if not isinstance(kept, dict) or name not in kept:
                yield f"{place}.{name}"
            else:
                yield from lost(value, kept[name], f"{place}.{name}")
    elif isinstance(said, list) and isinstance(kept, list) and len(said) == len(kept):
        for index, (one, other) in enumerate(zip(said, kept, strict=True)):
            yield from lost(one, other, f"{place}[{index}]")
    elif said != kept:
        yield f"{place}: {said!r}, kept as {kept!r}"
