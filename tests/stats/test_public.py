"""What is public in monitor.stats is written for people who read only its help."""

from __future__ import annotations

import inspect
import re

import pytest

from monitor import stats

PUBLIC = {
    name: thing
    for name in stats.__all__
    if inspect.isfunction(thing := getattr(stats, name)) or inspect.isclass(thing)
}
FUNCTIONS = {name: thing for name, thing in PUBLIC.items() if inspect.isfunction(thing)}


def help_of(thing):
    return inspect.getdoc(thing) or ""


def test_all_names_everything_once():
    assert sorted(set(stats.__all__)) == sorted(stats.__all__)


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_says_in_a_sentence_what_it_is(name):
    first = help_of(PUBLIC[name]).split("\n\n")[0]

    assert first.rstrip().endswith(".")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_an_example_that_runs(name):
    assert "\nExamples\n--------\n>>> " in help_of(FUNCTIONS[name])


def whole_help_of(name):
    """Help of a function, and of the one whose parameters it says it shares."""
    text = help_of(FUNCTIONS[name])
    shared = re.search(r"Parameters and errors are those of :func:`(\w+)`", text)
    return text + (help_of(FUNCTIONS[shared[1]]) if shared else "")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_explained(name):
    text = whole_help_of(name)
    asked = inspect.signature(FUNCTIONS[name]).parameters

    assert [one for one in asked if not re.search(rf"\b{one}\b", text)] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_refuses_says_what(name):
    source = inspect.getsource(FUNCTIONS[name])
    text = whole_help_of(name)

    assert "raise ValueError" not in source or "Raises\n------" in text
