"""A list under ``labeling``: what is read of it, and what is refused, with its line."""

import re
from typing import Any

import pytest

from monitor.config.load import load_config
from monitor.domain.errors import ConfigRefused
from monitor.domain.label_parts import checks_of
from monitor.labeling.column import ColumnLabeler
from monitor.rounds.labels.endpoints import endpoint_name
from monitor.wiring import build

COLUMN = "{for: flagged, kind: column, path: cases.csv, id: case, value: is_fraud, matures: 30d}"
FILES = "{for: passed, kind: files, deadline: 5d}"
TEXT = """
monitors:
  - name: fraud
    source:
      path: payments.parquet
      columns: {{id: id, time: at, score: score, segments: [country]}}
      threshold: 0.5
    schedule: {{cron: "0 6 * * MON"}}
    sample: {{max_labels: 400}}
    labeling:
      - {}
      - {}
"""


@pytest.fixture
def load(tmp_path):
    def load(*labelers):
        (tmp_path / "config.yaml").write_text(TEXT.format(*labelers))
        return load_config(tmp_path / "config.yaml", {})

    return load


def kinds_of(config, settings):
    [context] = build(config).monitors
    labelers: list[Any] = [*context.labelers_of(settings)]
    return [
        (one.part, one.title, one.labeler.name, one.labeler.settings.deadline.days)
        for one in labelers
    ]


def test_a_round_waits_for_the_slowest_and_each_keeps_its_own_time(load):
    config = load(COLUMN, FILES)

    settings = config.settings_of(config.monitors[0]).round

    assert (settings.deadline.days, settings.matures.days) == (30, 0)
    assert kinds_of(config, settings) == [
        (0, "flagged", "column", 30),
        (1, "passed", "files", 5),
    ]


def test_an_open_round_keeps_who_answers_for_what_when_the_config_changes(load):
    before = load(COLUMN, FILES)
    settings = before.settings_of(before.monitors[0]).round

    swapped = load(FILES, COLUMN.replace("cases.csv", "moved.csv"))
    [context] = build(swapped).monitors
    flagged, passed = context.labelers_of(settings)

    assert isinstance(flagged.labeler, ColumnLabeler)
    assert (flagged.part, flagged.labeler.settings.path) == (0, "moved.csv")
    assert (passed.part, passed.labeler.name) == (1, "files")


def test_a_round_with_several_labelers_keeps_them_when_the_config_has_another_list(load):
    before = load(COLUMN, FILES)
    settings = before.settings_of(before.monitors[0]).round

    after = load(FILES.replace("passed", "{country: CZ}"), FILES.replace("passed", "otherwise"))

    assert [name for _, _, name, _ in kinds_of(after, settings)] == ["column", "files"]


def test_the_same_items_are_known_by_another_rule_and_others_by_the_same_word_are_not(load):
    passed = COLUMN.replace("flagged", "passed").replace("cases", "passed")
    before = load(passed, COLUMN.replace("flagged", "otherwise"))
    settings = before.settings_of(before.monitors[0]).round

    after = load(COLUMN.replace("cases", "now"), passed.replace("passed,", "otherwise,"))
    [context] = build(after).monitors
    paths = {
        one.role: one.labeler.settings.path
        for one in context.labelers_of(settings)
        if isinstance(one.labeler, ColumnLabeler)
    }

    assert paths == {"passed": "passed.csv", "flagged": "now.csv"}


def test_each_list_has_places_of_its_own_for_what_it_read(load):
    def places(*labelers):
        [context] = build(load(*labelers)).monitors
        return [endpoint_name(one) for one in context.today]

    passed = COLUMN.replace("flagged", "passed").replace("is_fraud", "reviewed")

    assert places(COLUMN, passed) == places(passed, COLUMN)[::-1]
    assert len({*places(COLUMN, passed), *places(COLUMN, FILES)}) == 3


def test_a_round_of_one_labeler_is_not_read_by_one_that_answers_for_the_rest(load, tmp_path):
    alone = TEXT.replace("\n      - {}\n      - {}", " {}").format(
        COLUMN.replace("for: flagged, ", "")
    )
    (tmp_path / "config.yaml").write_text(alone)
    before = load_config(tmp_path / "config.yaml", {})
    settings = before.settings_of(before.monitors[0]).round

    rest = COLUMN.replace("flagged", "otherwise").replace("cases", "rest")
    [context] = build(load(COLUMN, rest)).monitors
    [reads_all] = context.labelers_of(settings)

    assert isinstance(reads_all.labeler, ColumnLabeler)
    assert reads_all.labeler.settings.path == "cases.csv"


REFUSED = """\
{for: passed, kind: files, deadline: 5} => [1].deadline: 5 has no unit
{kind: files} => : labeler 2 does not say for which items
{for: flagged, kind: files} => : labeler 2 gets no item
{for: {land: CZ}, kind: files} => : 'land' is no segment column
{for: {}, kind: files} => : labeler 2 names no segment
{for: {country: CZ}, kind: files} => : some items have no labeler; end the list with one that has
{for: otherwise, kind: files}/{for: passed, kind: files} => : labeler 3 gets no item
{for: passed, kind: files}/{for: otherwise, kind: files} => : labeler 3 gets no item
{for: pased, kind: files} => [1].for: it should be 'flagged', 'passed', 'otherwise' or 'checks'
{for: passed, kind: fils} => [1].kind: 'fils' is not known; did you mean files?
{for: passed, kind: page} => [1].question: this setting is missing
{for: passed, kind: files, audit: {tp: 9, fn: 1, tn: 9, fp: 1}} => [1].audit: this setting was
{for: passed, kind: page, question: "Is it?", answer: class} => [1].answer: people choose a class
{for: passed, kind: page, question: "?"}/{for: otherwise, kind: page, question: "!"} => [2].kind: a
{for: checks, kind: files}/{for: passed, kind: files} => [1].for: no column of the list has `checks`
{for: passed, kind: files}/COLUMN{for: checks} => [2].kind: people check the labels of a column
COLUMN{checks: 9, for: passed} => [1].checks: nobody of the list asks people
COLUMN{checks: 9, for: {country: CZ}}/{for: passed, kind: files} => [1].checks: errors are estimated
"""


@pytest.mark.parametrize("row", REFUSED.splitlines())
def test_a_list_that_cannot_be_used_is_refused_at_its_line(load, row):
    second, where = row.split(" => ")
    column = COLUMN.removeprefix("{for: flagged, ").removesuffix("}")
    second = re.sub(r"COLUMN\{(.*?\}?)\}(?=/|$)", rf"{{{column}, \1}}", second)
    with pytest.raises(ConfigRefused) as refused:
        load(COLUMN, second.replace("/", "\n      - "))

    [line] = str(refused.value).splitlines()
    assert f"monitors[fraud].labeling{where}" in line


def test_the_page_of_the_list_checks_unless_a_line_does(load):
    checked = COLUMN.replace("30d", "30d, checks: 9")
    of_list = load(checked, FILES)
    own = load(checked, FILES.replace("passed", "checks") + "\n      - {for: passed, kind: files}")

    checks = [checks_of(config.monitors[0].labeling.own()) for config in (of_list, own)]

    assert [each[0] for each in checks] == [(9, 1, (True,)), (9, 1, (True,))]
