"""Bad predictions, labels and configs: the sentence that the user sees, and the exit code.

None of them may end in a traceback, which `Workplace.run` checks each time.
"""

import re
from datetime import timedelta

import pytest

from tests.cli.workplace import PEOPLE

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


def test_an_abandoned_round_is_done_again_by_hand_though_the_schedule_is_another_by_now(place):
    place.predictions(rows=0)
    place.config(grace=("threshold: 0.5", "threshold: 0.5\n      grace: 0s"))
    again = ("run-once", "--slot", place.slot.isoformat())
    place.run("run-once")
    place.predictions()

    place.config(cron=(place.cron, "0 0 1 1 *"))
    done, repeated = place.run(*again), place.run(*again)

    due = f"round 1 (due {place.at(place.slot)} UTC)"
    assert f"mail: {due} is closed, version 2" in done.lines
    assert f"mail: the round due {place.at(place.slot)} UTC is closed; it stays as it is" in (
        repeated.lines
    )


# The labels


def test_a_file_that_may_hold_answers_is_not_written_over(place):
    place.config(PEOPLE)
    place.write("todo.csv", "half filled")

    done = place.run("labels", "export", "--out", "todo.csv")

    assert (done.code, (place.folder / "todo.csv").read_text()) == (65, "half filled")
    assert done.lines == [
        "pr-monitor: todo.csv is there already and may hold answers; import it with pr-monitor "
        "labels import, or name another file"
    ]


# The config


@pytest.mark.parametrize(
    "words",
    [["run-once"], ["show", 1]],
)
def test_a_monitor_that_the_config_does_not_have(bare, words):
    bare.config(PEOPLE)

    done = bare.run(*words, "--monitor", "post")

    sentence = "pr-monitor: there is no monitor 'post' in the config; it has mail"
    assert (done.code, done.lines) == (78, [sentence])


LATE = "{kind: column, path: truth.csv, id: mail_id, value: is_travel, matures: 60d}"


def test_labels_that_cannot_be_read_are_a_problem_in_status_until_they_can(place):
    place.config(labeling=LATE)
    place.predictions("truth.csv", is_travel="'perhaps'")
    refused = place.run("run-once")
    told = place.run("status")
    (place.folder / "truth.csv").unlink()
    missing = place.run("run-once")
    gone = place.run("status")
    place.predictions("truth.csv")
    mended = place.run("run-once")
    well = place.run("status")

    assert (refused.code, missing.code) == (65, 65)
    assert mended.lines[0] == f"mail: round 1 (due {place.at(place.slot)} UTC) is closed"
    assert told.lines[0] == gone.lines[0] == "mail: STALE"
    assert "problem: labels cannot be read: truth.csv: column 'is_travel'" in told.out
    assert "problem: labels cannot be read: no file matches truth.csv" in gone.out
    assert "labels cannot be read" not in well.out
    assert "STALE" not in well.out
