"""`benchmarks.dashboard_queries` measures every view, and every panel where there are any."""

from benchmarks import copied_rounds, dashboard_queries
from benchmarks.dashboard_queries import queries
from monitor.storage.views import NAMES
from tests.dashboards import grafana
from tests.faults.few_points import few_points


def test_the_views_are_measured_on_a_store_with_many_rounds(capsys, monkeypatch):
    monkeypatch.setattr(copied_rounds, "PLAYED", 2)
    monkeypatch.setattr(copied_rounds, "ITEMS", 1000)
    with few_points(2**6):
        dashboard_queries.main(sqlite=True, monitors=2, rounds=20)

    head, *lines = capsys.readouterr().out.splitlines()
    rows = {line.split(maxsplit=2)[2]: int(line.split()[0]) for line in lines}
    assert head.split() == ["rows", "seconds", "query"]
    assert {name.split(",")[0] for name in rows} == set(NAMES)
    assert rows["round_results, one monitor"] == 20
    assert (rows["monitor_status, all"], rows["waiting_rounds, all"]) == (2, 2)


def test_on_postgresql_each_panel_is_measured_too():
    asked = queries(with_panels=True)

    titles = {panel["title"] for panel in grafana.panels()}
    assert {name.removeprefix("panel ") for name in asked if name.startswith("panel ")} == titles
    assert not any("$" in sql for sql in asked.values())
