"""Help and docs: every command and option is told, whole, and the docs page is current."""

from __future__ import annotations

import runpy
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from monitor.cli.app import SECTIONS

ROOT = Path(__file__).parents[2]
GENERATE = runpy.run_path(str(ROOT / "docs" / "generate.py"))
COMMANDS = dict(GENERATE["all_commands"]())
TOP = {name.split()[1] for name in COMMANDS}


def test_every_command_stands_in_one_section_of_the_help():
    told = [name for names in SECTIONS.values() for name in names]

    assert sorted(told) == sorted(TOP)


def test_the_help_names_every_command_in_its_order(bare):
    lines = bare.run("--help").lines

    first_words = [line.split()[0] for line in lines if line.startswith("  ")]
    told = [word for word in first_words if word in TOP]
    assert told == [name for names in SECTIONS.values() for name in names]


@pytest.mark.parametrize("words", ["", *(name.partition(" ")[2] for name in COMMANDS)])
def test_help_fits_into_80_columns_and_nothing_is_cut(bare, words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    done = bare.run(*words.split(), "--help")

    assert done.code == 0
    assert "..." not in done.out.replace("COMMAND [ARGS]...", "")
    assert max(map(len, done.lines)) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_is_and_what_it_takes(name):
    for parameter in COMMANDS[name].params:
        assert parameter.help.endswith("."), parameter.name
        assert parameter.is_flag if parameter.metavar is None else parameter.metavar.isupper()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name.count(" ") == 1])
def test_every_command_has_json_but_for_those_that_only_hold_commands(name):
    command = COMMANDS[name]
    leaves = [command] if not GENERATE["is_only_a_group"](command) else command.commands.values()

    assert all("--json" in {opt for p in leaf.params for opt in p.opts} for leaf in leaves)


def test_docs_commands_is_current():
    assert (ROOT / "docs" / "commands.md").read_text() == GENERATE["commands_page"]()


@pytest.mark.parametrize(
    "name", [name for name in COMMANDS if not GENERATE["is_only_a_group"](COMMANDS[name])]
)
def test_every_command_and_option_stands_in_the_docs(name):
    [section] = [
        part
        for part in (ROOT / "docs" / "commands.md").read_text().split("\n## ")
        if part.startswith(f"{name}\n")
    ]

    for parameter in COMMANDS[name].params:
        told = parameter.metavar if parameter.param_type_name == "argument" else parameter.opts[0]
        assert any(line.startswith("| `") and told in line for line in section.splitlines()), told


def test_the_version_is_that_of_the_package(bare):
    assert bare.run("--version").out == "pr-monitor 0.1.0\n"


def test_the_entry_point_of_the_package_is_this_command():
    [entry] = entry_points(group="console_scripts", name="pr-monitor")

    assert entry.value == "monitor.cli:main"
