"""Arguments that cannot be: the sentence, and the exit code."""

from datetime import timedelta

import pytest

from tests.cli.workplace import PEOPLE


def test_a_slot_that_is_none_names_its_neighbours(place):
    asked = place.slot - timedelta(hours=5)

    done = place.run("run-once", "--slot", f"{asked:%Y-%m-%dT%H:%M}")

    before, after = place.at(place.slot - timedelta(days=1)), place.at(place.slot)
    sentence = (
        f"--slot {asked:%Y-%m-%dT%H:%M} is not a slot of mail ({place.cron!r} in UTC); the nearest "
        f"are {before} and {after} UTC"
    )
    assert (done.code, done.lines) == (65, [f"pr-monitor: {sentence}"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "backfill --from yesterday",
            "Invalid value for --from: 'yesterday' is not a date or time; write 2025-03-31 or "
            "2025-03-31T06:00+02:00",
        ),
        (
            "backfill --from 2026-02-01 --to 2026-01-01",
            "Invalid value for --to: 2026-01-01 is before --from 2026-02-01",
        ),
        (
            "labels export --out todo.ods",
            "Invalid value for --out: 'todo.ods' does not end in .csv, .xlsx or .jsonl",
        ),
        (
            "init store.duckdb --config new.yaml",
            "Invalid value for --table: store.duckdb is a DuckDB file, name its table or view",
        ),
        ("backfill", "Missing option '--from'."),
        ("labels export mail x", "Unexpected argument: mail x. To name a monitor, use -m mail"),
        ("rund-once", "No such command 'rund-once'. Did you mean 'run-once'?"),
    ],
)
def test_wrong_usage_ends_with_the_usage_line_and_code_2(bare, words, sentence):
    bare.config(PEOPLE)

    done = bare.run(*words.split())

    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("Usage: pr-monitor")
    assert done.lines[-1] == f"Error: {sentence}"


def test_a_round_that_is_not_there(place):
    before = place.run("show", 1)
    place.run("run-once")

    round_7, version_4 = place.run("show", 7), place.run("show", 1, "--version", 4)

    assert before.lines == ["pr-monitor: mail has no round 1; it has none yet"]
    assert round_7.lines == ["pr-monitor: mail has no round 7; its rounds lie between 1 and 1"]
    assert version_4.lines == ["pr-monitor: round 1 of mail has no version 4; the newest is 1"]
    assert {each.code for each in (before, round_7, version_4)} == {65}
