"""Help: every command and option is told, and whole."""

from importlib.metadata import entry_points

from monitor.cli.app import SECTIONS
from tests.pages import generator

GENERATE = generator("generate")
COMMANDS = dict(GENERATE["all_commands"]())
TOP = {name.split()[1] for name in COMMANDS}


def test_the_help_names_every_command_in_its_order(bare):
    lines = bare.run("--help").lines

    first_words = [line.split()[0] for line in lines if line.startswith("  ")]
    told = [word for word in first_words if word in TOP]
    assert told == [name for names in SECTIONS.values() for name in names]
    assert sorted(told) == sorted(TOP)


def test_help_fits_into_80_columns_and_nothing_is_cut(bare, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    helps = {
        words: bare.run(*words.split(), "--help")
        for words in ("", *(name.partition(" ")[2] for name in COMMANDS))
    }

    assert [words for words, done in helps.items() if done.code != 0] == []
    several = ("COMMAND [ARGS]...", "[ROUND]...")
    outs = {
        words: done.out.replace(several[0], "").replace(several[1], "")
        for words, done in helps.items()
    }
    assert [words for words, out in outs.items() if "..." in out] == []
    assert [words for words, done in helps.items() if max(map(len, done.lines)) > 80] == []


def parameters():
    return [(name, one) for name, command in COMMANDS.items() for one in command.params]


def test_every_option_says_what_it_is_and_what_it_takes():
    unsaid = [(name, one.name) for name, one in parameters() if not one.help.endswith(".")]
    shapeless = [
        (name, one.name)
        for name, one in parameters()
        if not (one.is_flag if one.metavar is None else one.metavar.isupper())
    ]

    assert (unsaid, shapeless) == ([], [])


def test_every_command_has_json_but_for_those_that_only_hold_commands():
    without = [
        name
        for name in COMMANDS
        if not GENERATE["is_only_a_group"](COMMANDS[name])
        and "--json" not in {opt for one in COMMANDS[name].params for opt in one.opts}
    ]

    assert without == []


def test_the_version_is_that_of_the_package(bare):
    assert bare.run("--version").out == "pr-monitor 0.1.0\n"


def test_the_entry_point_of_the_package_is_this_command():
    [entry] = entry_points(group="console_scripts", name="pr-monitor")

    assert entry.value == "monitor.__main__:main"
