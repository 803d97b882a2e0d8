"""A labeler for each class under ``labeling``: what is read, and what is refused with its line."""

import re
from typing import Any

import pytest

from monitor.config.load import load_config
from monitor.domain.errors import ConfigRefused
from monitor.domain.label_parts import checks_of
from monitor.labeling.column import ColumnLabeler
from monitor.rounds.labels.endpoints import endpoint_name
from monitor.wiring import build

COLUMN = "{kind: column, path: cases.csv, id: case, value: is_fraud, matures: 30d}"
FILES = "{kind: files, deadline: 5d}"
TEXT = """
monitors:
  - name: fraud
    source:
      path: payments.parquet
      columns: {{id: id, time: at, score: score, segments: [country]}}
      threshold: 0.5
    schedule: {{cron: "0 6 * * MON"}}
    sample: {{max_labels: 400}}
    labeling: {}
"""


@pytest.fixture
def load(tmp_path):
    def load(flagged, passed, **more):
        lines = {"flagged": flagged, "passed": passed, **more}
        return loaded(tmp_path, "".join(f"\n      {name}: {of}" for name, of in lines.items()))

    return load


def loaded(folder, labeling):
    (folder / "config.yaml").write_text(TEXT.format(labeling))
    return load_config(folder / "config.yaml", {})


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

    moved = load(COLUMN.replace("cases.csv", "moved.csv"), COLUMN)
    [context] = build(moved).monitors
    flagged, passed = context.labelers_of(settings)

    assert isinstance(flagged.labeler, ColumnLabeler)
    assert (flagged.role, flagged.labeler.settings.path) == ("flagged", "moved.csv")
    assert (passed.role, passed.labeler.name) == ("passed", "files")


def frozen(load, *parts):
    """Settings of a round of an earlier version, with a list of labelers."""
    config = load(COLUMN, FILES)
    settings = config.settings_of(config.monitors[0]).round
    column = {"kind": "column", "path": "old.csv", "id": "case", "value": "y", "matures": "30d"}
    stored = [
        {"for": role, **(column if kind == "column" else {"kind": kind})} for role, kind in parts
    ]
    return settings.model_copy(update={"labeling": {"kind": "several", "parts": stored}})


def assigned(load, *parts):
    [context] = build(load(COLUMN, FILES)).monitors
    labelers: list[Any] = [*context.labelers_of(frozen(load, *parts))]
    return [(one.part, one.role, getattr(one.labeler.settings, "path", "")) for one in labelers]


def test_a_round_of_an_earlier_version_keeps_its_list_and_reads_columns_where_they_are_today(load):
    of_rest = assigned(load, ("passed", "files"), ("otherwise", "column"))
    of_all = assigned(load, ("otherwise", "column"), ("checks", "files"))

    assert of_rest == [(0, "passed", ""), (1, "flagged", "cases.csv")]
    assert of_all == [(0, "flagged and passed", "old.csv"), (1, "checks", "")]


def test_the_labeler_of_a_segment_stays_with_a_round_of_an_earlier_version(load):
    parts = ({"country": "CZ"}, "column"), ("flagged", "column"), ("passed", "files")

    assert [one[1:] for one in assigned(load, *parts)] == [
        ("{'country': 'CZ'}", "old.csv"),
        ("flagged", "cases.csv"),
        ("passed", ""),
    ]
    # Some of its flagged items have another labeler, so its column does not have them all.
    assert frozen(load, *parts).counted_whole == {}
    assert frozen(load, *parts[1:], parts[0]).counted_whole == {True: 0}


def test_each_labeler_has_places_of_its_own_for_what_it_read(load):
    def places(*labelers):
        [context] = build(load(*labelers)).monitors
        return [endpoint_name(one) for one in context.today]

    reviewed = COLUMN.replace("is_fraud", "reviewed")

    assert len({*places(COLUMN, reviewed), *places(COLUMN, FILES)}) == 3


def test_a_round_of_one_labeler_is_not_read_by_one_that_answers_for_a_class(load, tmp_path):
    before = loaded(tmp_path, COLUMN)
    settings = before.settings_of(before.monitors[0]).round

    [context] = build(load(COLUMN.replace("cases", "rest"), FILES)).monitors
    [reads_all] = context.labelers_of(settings)

    assert isinstance(reads_all.labeler, ColumnLabeler)
    assert reads_all.labeler.settings.path == "cases.csv"


def test_a_list_of_both_classes_is_read_as_the_labelers_of_the_classes(load, tmp_path):
    items = [
        of.replace("{", f"{{for: {name}, ") for name, of in (("passed", FILES), ("flagged", COLUMN))
    ]

    listed = loaded(tmp_path, "".join(f"\n      - {one}" for one in items)).monitors[0].labeling

    assert listed == load(COLUMN, FILES).monitors[0].labeling


REFUSED = """\
passed: {kind: files, deadline: 5} => .passed.deadline: 5 has no unit
=> .passed: this setting is missing
passed: {for: passed, kind: files} => .passed.for: this setting was removed: write labeling as
passed: {kind: files}/country: {kind: files} => .country: there is no such setting here
passed: {kind: fils} => .passed.kind: 'fils' is not known; did you mean files?
passed: {kind: page} => .passed.question: this setting is missing
passed: {kind: files, audit: {tp: 9, fn: 1, tn: 9, fp: 1}} => .passed.audit: this setting was
passed: {kind: page, question: "Is it?", answer: class} => .passed.answer: people can choose a class
passed: {kind: page, question: "?"}/checks: {kind: page, question: "!"} => .checks.kind: a round
passed: {kind: files}/checks: {kind: files} => .checks: no column has `checks`
passed: {kind: files}/checks: COLUMN{} => .checks.kind: people check the labels of a column
passed: COLUMN{, checks: 9} => .passed.checks: no labeler asks people
"""


@pytest.mark.parametrize("row", REFUSED.splitlines())
def test_labelers_that_cannot_be_used_are_refused_at_their_line(tmp_path, row):
    others, where = row.split("=> ")
    others = re.sub(r"COLUMN\{(.*?)\}", rf"{COLUMN[:-1]}\1}}", others)
    lines = ["flagged: " + COLUMN, *filter(None, others.strip().split("/"))]
    with pytest.raises(ConfigRefused) as refused:
        loaded(tmp_path, "".join(f"\n      {line}" for line in lines))

    [line] = str(refused.value).splitlines()
    assert f"monitors[fraud].labeling{where}" in line


@pytest.mark.parametrize("role", ["otherwise", "{country: CZ}", "flagged"])
def test_a_list_with_other_labelers_is_refused_and_says_how_to_write_them(tmp_path, role):
    items = [COLUMN.replace("{", "{for: flagged, "), FILES.replace("{", f"{{for: {role}, ")]

    with pytest.raises(ConfigRefused, match=r"labeling: lists of labelers were removed: write \{f"):
        loaded(tmp_path, "".join(f"\n      - {one}" for one in items))


def test_the_labeler_of_the_other_class_checks_unless_one_is_named(load):
    checked = COLUMN.replace("30d", "30d, checks: 9")
    other = load(checked, FILES)
    own = load(checked, FILES, checks=FILES)

    checks = [checks_of(config.monitors[0].labeling.own()) for config in (other, own)]

    assert [each[0] for each in checks] == [(9, 1, (True,)), (9, 2, (True,))]
