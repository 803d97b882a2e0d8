import json
import re

import pytest

from monitor.domain.period_report import PeriodReports
from monitor.results.result import dump


@pytest.fixture
def year(filled):
    """All rounds, also around New Year."""
    first = filled.slot.year - 1
    return f"{first}..{first + 1}"


def test_the_file_has_the_rounds_of_the_period_and_alerts_without_a_note_are_named(filled, year):
    done = filled.run("report", "--period", year)

    assert done.lines[0] == f"mail-{year}.html: mail, {year}, 8 closed rounds"
    assert done.lines[1].startswith("some alerts have no note: pr-monitor alerts resolve ID --note")
    page = (filled.folder / f"mail-{year}.html").read_text()
    assert re.search("8 rounds closed, with 320 labels of 1,[56].. predictions; 1 alert", page)
    [alert] = filled.as_json("alerts")["alerts"]
    filled.run("alerts", "resolve", alert["id"], "--note", "asked the data team")
    assert len(filled.run("report", "--period", year).lines) == 1


def test_json_is_of_the_schema_and_has_the_numbers_of_show(filled, year):
    printed = filled.run("report", "--period", year, "--json").out

    reports = PeriodReports.model_validate_json(printed)
    assert dump(reports) == json.loads(printed)
    assert not (filled.folder / f"mail-{year}.html").exists()
    for each in json.loads(printed)["reports"][0]["rounds"]:
        shown = filled.as_json("show", str(each["round"]))["estimates"]
        names = shown[0].keys()
        assert [{name: row[name] for name in names} for row in each["estimates"]] == shown


def test_one_day_has_the_round_whose_window_ends_on_it(filled):
    [report] = filled.as_json("report", "--period", f"{filled.slot:%Y-%m-%d}")["reports"]

    assert [each["round"] for each in report["rounds"]] == [8]
    assert report["rounds"][0]["window_start"] < report["start"]


def test_each_monitor_has_a_part_and_one_without_rounds_is_named(filled, year):
    config = (filled.folder / "config.yaml").read_text()
    monitor = config.partition("monitors:\n")[2]
    filled.write("config.yaml", config + monitor.replace("name: mail", "name: post"))

    done = filled.run("report", "--period", year, "--out", "both.html")
    alone = filled.run("report", "--period", year, "-m", "post")

    assert done.lines[0] == f"both.html: mail, {year}, 8 closed rounds"
    assert done.lines[1].startswith(f"not in it: no round of post ends its window in {year}")
    assert alone.code == 65
    assert alone.err.endswith("; it has no rounds yet\n")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["3", "--period", "2026"], 2, "omit ROUND and --version"),
        (["--version", "1", "--period", "2026"], 2, "omit ROUND and --version"),
        (["--period", "last quarter"], 65, "'last quarter' is not a period; write 2026, 2026-Q3"),
        (["--period", "1999"], 65, "its rounds 1 to 8 end theirs from "),
    ],
)
def test_what_names_no_rounds_is_refused(filled, words, code, message):
    done = filled.run("report", *words)

    assert done.code == code
    assert message in " ".join(done.err.split())
    assert list(filled.folder.glob("*.html")) == []
