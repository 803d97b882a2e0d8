"""What is public in monitor.stats is written for people who read only its help."""

import inspect
import re

from monitor import stats

PUBLIC = {
    name: thing
    for name in stats.__all__
    if inspect.isfunction(thing := getattr(stats, name)) or inspect.isclass(thing)
}
SHARED = set(re.findall(r"``(\w+)``", (inspect.getdoc(stats) or "").split("\n\n")[-1]))
"""Parameters that the help of the package explains for all functions."""
FUNCTIONS = {name: thing for name, thing in PUBLIC.items() if inspect.isfunction(thing)}


def help_of(thing):
    return inspect.getdoc(thing) or ""


def test_everything_public_says_in_a_sentence_what_it_is():
    firsts = {name: help_of(thing).split("\n\n")[0] for name, thing in PUBLIC.items()}

    assert [name for name, first in firsts.items() if not first.rstrip().endswith(".")] == []


def test_every_function_has_an_example_that_runs():
    example = "\nExamples\n--------\n>>> "

    assert [name for name, thing in FUNCTIONS.items() if example not in help_of(thing)] == []


def whole_help_of(name):
    """Help of a function, and of the one whose parameters it says it shares."""
    text = help_of(FUNCTIONS[name])
    shared = re.search(r"Parameters and errors are as in :func:`(\w+)`", text)
    return text + (help_of(FUNCTIONS[shared[1]]) if shared else "")


def test_every_parameter_is_explained():
    unexplained = [
        (name, parameter)
        for name, thing in FUNCTIONS.items()
        for parameter in inspect.signature(thing).parameters
        if parameter not in SHARED and not re.search(rf"\b{parameter}\b", whole_help_of(name))
    ]

    assert unexplained == []


def test_a_function_that_refuses_says_what():
    refusing = [
        name for name, thing in FUNCTIONS.items() if "raise ValueError" in inspect.getsource(thing)
    ]

    assert len(refusing) > 10
    assert [name for name in refusing if "Raises\n------" not in whole_help_of(name)] == []
