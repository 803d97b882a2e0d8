"""What goes where: JSON alone on standard output, no control codes in pipes, tables that fit."""

import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from datetime import UTC, datetime

import pytest

from monitor.cli.views.printing import echo_answer
from monitor.domain.settings import LimitSide
from monitor.presentation.table import Table
from monitor.stats.core.counts import Interval
from tests.cli.workplace import PEOPLE

CODES = re.compile(r"\x1b\[[0-9;]*m")
MATRIX = "--tp 138 --fp 22 --fn 108 --tn 4732 --flagged-size 1600 --passed-size 48400"
COMMANDS = [
    "check",
    "status",
    "rounds",
    "show 1",
    "show 1 --version 1",
    "alerts",
    f"estimate {MATRIX}",
    "run-once",
    "backfill --from 2026-01-01",
    "db check",
    "db upgrade",
    "db restored",
]


class Terminal(io.StringIO):
    """Standard output as a terminal has it."""

    def isatty(self):
        return True


def on_terminal(place, columns, *words):
    """Run a command in this process with a terminal for standard output."""
    screen = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("TERM", "xterm")
        place.run(*words, out=screen)
    return screen.getvalue()


def test_a_pipe_gets_json_alone_on_standard_output_and_no_control_codes(corrected, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")

    for command in COMMANDS:
        plain = corrected.run(*command.split())
        done = corrected.run(*command.split(), "--json")

        assert "\x1b" not in plain.out + plain.err, command
        assert isinstance(json.loads(done.out), dict), command


def test_an_answer_is_printed_as_a_document_or_as_the_values_of_its_rows(capsys):
    limit = LimitSide("recall", 0.5, "at_least")
    values = {"at": datetime(2026, 3, 2, tzinfo=UTC), "rows": (Interval(0.8, 0.7, 0.9), limit)}

    echo_answer(values, ["a line", Table(["round"], [["1"]])], json=False)
    document = capsys.readouterr().out
    echo_answer(values, "a line", json=True)
    printed = json.loads(capsys.readouterr().out)

    assert document == "a line\nround\n-----\n1\n"
    assert printed["at"] == "2026-03-02T00:00:00+00:00"
    assert printed["rows"][0] == {"point": 0.8, "low": 0.7, "high": 0.9}
    assert printed["rows"][1] == {"metric": "recall", "value": 0.5, "side": "at_least"}


@pytest.mark.parametrize("command", ["check --json", "show 9 --json", "run-once --slot 9 --json"])
def test_what_goes_wrong_leaves_standard_output_empty_or_json(bare, command):
    bare.config(PEOPLE, path=("predictions.parquet", "away.parquet"))

    done = bare.run(*command.split())

    assert done.code > 0
    assert done.out == "" or json.loads(done.out)["ok"] is False


@pytest.mark.parametrize("columns", [80, 120])
def test_what_a_terminal_shows_fits_into_it(corrected, columns):
    for command in ("rounds", "show 3", "status", "alerts", f"estimate {MATRIX}"):
        shown = CODES.sub("", on_terminal(corrected, columns, *command.split()))

        assert shown.splitlines(), command
        assert max(map(len, shown.splitlines())) <= columns, command


def test_a_terminal_shows_an_alert_in_red_unless_colour_is_unwanted(corrected, monkeypatch):
    plain = "mail: ALERT"

    coloured = on_terminal(corrected, 100, "status")
    monkeypatch.setenv("NO_COLOR", "1")
    unwanted = on_terminal(corrected, 100, "status")

    assert "\x1b[31m\x1b[1mALERT\x1b[0m" in coloured
    assert unwanted.splitlines()[0] == plain


def command(*words):
    """Run the command line in a process of its own, as few words as possible from this one."""
    unset = {"COLUMNS", "PYTHONUNBUFFERED", "NO_COLOR"}
    kept = {name: text for name, text in os.environ.items() if name not in unset}
    environment = kept | {"TERM": "xterm", "PYTHONPATH": os.pathsep.join(sys.path)}
    return {"args": [sys.executable, "-m", "monitor", *words], "env": environment}


def test_a_real_terminal_gets_colours_and_its_own_width(corrected):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))

    with os.fdopen(ours, "rb", buffering=0) as screen:
        subprocess.run(**command("status"), stdout=theirs, check=True)
        os.close(theirs)
        shown = screen.read(10_000).decode()

    assert "\x1b[1mALERT" in shown
    lines = [line for line in CODES.sub("", shown).splitlines() if "http://" not in line]
    assert max(len(line) for line in lines) <= 60  # an address stays whole, to be clicked on


def test_a_reader_that_has_gone_ends_a_command_quietly():
    ours, theirs = os.pipe()
    os.close(ours)

    done = subprocess.run(
        **command("--help"), stdout=theirs, stderr=subprocess.PIPE, text=True, check=False
    )

    os.close(theirs)
    assert done.stderr == ""
    assert done.returncode in {0, 1}


def test_a_full_disk_is_one_line_and_worth_another_try():
    with open("/dev/full", "w") as full:  # noqa: PTH123  a device, not a file
        done = subprocess.run(
            **command("--version"), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    sentence = "pr-monitor: standard output: no space left on device\n"
    assert (done.returncode, done.stderr) == (75, sentence)
