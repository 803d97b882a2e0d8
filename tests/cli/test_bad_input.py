"""Bad predictions, labels, configs and places: the sentence that the user sees, and the exit code.

None of them may end in a traceback, which `Workplace.run` checks each time.
"""

import re
from datetime import timedelta

import pytest

from monitor.storage import schema
from tests.cli.workplace import COLUMN, PEOPLE
from tests.engine import engine

POSTGRES = "postgresql+psycopg://me@127.0.0.1:9/monitor"

# The predictions


def test_the_first_commands_on_an_old_file_abandon_no_round_and_say_what_to_run(place):
    """A file that is not written to any more, as one tries a program with."""
    old = f"timestamptz '{(place.slot - timedelta(days=4)).isoformat()}' + i * interval 5 minute"
    place.predictions(scored_at=old)

    ran = place.run("run-once")
    named = re.search(r"; pr-monitor (run-once --slot \S+ -m mail) runs the window", ran.err)
    assert named is not None
    then = place.run(*named[1].split())

    assert ran.code == 65
    assert "abandoned" not in ran.out + ran.err + then.out + then.err
    newest = place.slot - timedelta(days=1)
    assert f"mail: round 0 (due {place.at(newest)} UTC) is closed" in then.lines
    assert then.code == 75, "MLflow is away; that round 1 waits for predictions is no failure"


# The config


UNREACHED = {"store": ("sqlite:///monitor.db", POSTGRES)}
AGAIN = "Nothing changed, or it is unknown whether it did; running again is safe"


@pytest.mark.parametrize(
    ("words", "changes", "code", "said"),
    [
        (
            "run-once --monitor post",
            {},
            78,
            "there is no monitor 'post' in the config; it has mail",
        ),
        ("show 1 --monitor post", {}, 78, "there is no monitor 'post' in the config; it has mail"),
        (
            "labels export --out todo.csv",
            {},
            65,
            "todo.csv is there already and may hold answers; import it with pr-monitor labels "
            "import, or name another file",
        ),
        (
            "labels export --out config.yaml/labels/todo.csv",
            {},
            65,
            "config.yaml/labels/todo.csv cannot be written: not a directory",
        ),
        (
            "init predictions.parquet",
            {},
            65,
            "config.yaml is there already; move it away or name another with --config",
        ),
        *(
            (words, UNREACHED, 75, f"the store {POSTGRES} cannot be used now: connection")
            for words in ("run-once", "db upgrade")
        ),
    ],
)
def test_what_is_missing_or_may_not_be_written_over_is_one_line(asked, words, changes, code, said):
    asked.config(PEOPLE, **changes)
    asked.write("todo.csv", "half filled")

    done = asked.run(*words.split())

    [line] = done.lines
    assert done.code == code
    assert line.startswith(f"pr-monitor: {said}")
    assert line.endswith(AGAIN if changes else said)
    assert (asked.folder / "todo.csv").read_text() == "half filled"


LATE = "{kind: column, path: truth.csv, id: mail_id, value: is_travel, matures: 60d}"


def test_labels_that_cannot_be_read_are_a_problem_in_status_until_they_can(place):
    place.config(labeling=LATE)
    place.predictions("truth.csv", is_travel="'perhaps'")
    refused, told = place.run("run-once"), place.run("status")
    (place.folder / "truth.csv").unlink()
    missing, gone = place.run("run-once"), place.run("status")
    place.predictions("truth.csv")
    (place.folder / "predictions.parquet").unlink()  # the round closes without them
    mended, well = place.run("run-once"), place.run("status")

    assert (refused.code, missing.code) == (65, 65)
    assert mended.lines[0] == f"mail: round 1 (due {place.at(place.slot)} UTC) is closed"
    assert told.lines[0] == gone.lines[0] == "mail: STALE"
    assert "problem: labels cannot be read: truth.csv: column 'is_travel'" in told.out
    assert "problem: labels cannot be read: no file matches truth.csv" in gone.out
    assert "labels cannot be read" not in well.out
    assert "STALE" not in well.out


# Stores, an MLflow and folders that cannot be reached


def test_a_store_without_tables_is_told_by_db_check(storeless):
    place = storeless
    before, made, after = (place.run("db", word) for word in ("check", "upgrade", "check"))

    store = f"sqlite:///{place.folder}/monitor.db"
    no_tables = f"pr-monitor: the store {store} holds no tables yet; run: pr-monitor db upgrade"
    assert (before.code, before.lines) == (78, [no_tables])
    newest = schema.revisions()[-1]
    assert (made.code, made.lines) == (0, [f"{store}: tables created (schema {newest})"])
    assert (after.code, after.lines) == (0, [f"{store} holds this version's tables"])


def test_check_reads_no_round_from_a_store_that_is_to_be_upgraded(closed):
    closed.query("update monitor_schema_version set version_num = '0014'")
    closed.query("update rounds set settings = '{}'")

    done = closed.run("check")

    assert done.code == 78
    assert any(
        "schema 0014" in line and "run: pr-monitor db upgrade" in line for line in done.lines
    )
    assert not any("of mail" in line for line in done.lines)


def test_a_folder_for_labels_that_cannot_be_written(place):
    place.config("{kind: files, folder: config.yaml/labels}")

    checked, ran = place.run("check"), place.run("run-once")

    sentence = (
        f"labeling.folder: {place.folder}/config.yaml/labels cannot be written: not a directory; "
        "let this user write there, or name another folder"
    )
    assert f"PROBLEM  labels of mail: {sentence}" in checked.lines
    assert f"mail: {sentence}" in ran.err.splitlines()
    assert ran.code == 65
    assert f"  problem: round 1 waits: {sentence}" in place.run("status").lines


def test_run_once_tells_every_obstacle_of_a_monitor_not_only_the_gravest(place):
    place.config(COLUMN.replace("1s", "9d").replace("id: mail_id", "id: wrong_id"))
    place.run("run-once")

    later = place.run_at(place.now + timedelta(days=3), "run-once")

    told = [line for line in later.err.splitlines() if line.startswith("mail: ")]
    assert any("no predictions from" in line for line in told)
    assert any("has no column 'wrong_id' (labeling.id)" in line for line in told)
    assert len(told) == len(set(told))


def test_status_tells_which_value_of_a_closed_round_was_refused(place):
    with engine() as connection:
        connection.execute(
            "copy (select mail_id, case when i % 2 = 0 then 'yes;no' else 'yes' end as is_travel "
            f"from (select *, row_number() over () as i from '{place.folder}/predictions.parquet'))"
            f" to '{place.folder}/words.parquet'"
        )
    place.config(COLUMN.replace("predictions", "words").replace("1s", "1s, positive: 'yes'"))

    closed, status = place.run("run-once"), place.run("status")

    assert "is closed" in closed.out
    assert "note: label refused: words.parquet, id m" in status.out
    assert "value 'yes;no' of column 'is_travel' is neither positive nor negative" in status.out
