"""No commit and no call to the outside without the points at which R1 kills."""

import ast
from pathlib import Path

import pytest

import monitor

ROOT = Path(monitor.__file__).parent
CALLS = {
    "engine": {"connect", "begin", "raw_connection"},
    "handler": {"deliver", "keep"},
    "labeler": {"send", "collect", "close", "forget"},
    "source": {"scan", "count", "show", "read_for"},
}
CHANGE_NOTHING = {
    ("storage/database.py", "read"),
    ("cli/commands/data_checks.py", "check_source"),
    ("cli/commands/truth_checks.py", "check_truth"),
    ("cli/commands/truth_checks.py", "_joined_window"),
    ("cli/commands/data_checks.py", "rule_warnings"),
    ("cli/commands/data_checks.py", "_shown_warnings"),
    ("cli/commands/truth_checks.py", "_unmatched_warnings"),
    ("cli/commands/effects.py", "_tested"),
    ("cli/commands/first_answer.py", "first_answer"),
    ("labeling/column.py", "_by_id"),
    ("cli/commands/data_checks.py", "_an_item"),
    ("sources/sql.py", "reading"),
}
"""Functions of no round, or within a call that has its points: they cannot be half done."""


def calls_without_points(source):
    """Line and function of each call that R1 would not know of."""
    return list(_calls(ast.parse(source), function="", points=False))


def _calls(node, *, function, points):
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = node.name
        points = any(_is_named(each, "crashpoint") for each in ast.walk(node))
    if isinstance(node, ast.With):
        points = points or any(_is_named(item.context_expr, "outside") for item in node.items)
    if isinstance(node, ast.Call) and not points and _is_of_the_outside(node.func):
        yield node.lineno, function
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, function=function, points=points)


def _is_named(node, name):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _is_of_the_outside(called):
    if not isinstance(called, ast.Attribute):
        return False
    if called.attr == "commit":
        return True
    owner = called.value
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return called.attr in CALLS.get(name.lstrip("_"), ())


def test_every_commit_and_every_call_to_the_outside_has_its_crash_points():
    found = [
        f"{path.relative_to(ROOT)}:{line} in {function}"
        for path in sorted(ROOT.rglob("*.py"))
        if "testing" not in path.parts
        for line, function in calls_without_points(path.read_text())
        if (path.relative_to(ROOT).as_posix(), function) not in CHANGE_NOTHING
    ]

    assert found == []
    assert [each for each in CHANGE_NOTHING if not (ROOT / each[0]).exists()] == []


@pytest.mark.parametrize(
    "statement",
    [
        "connection.commit()",
        "self.engine.connect()",
        "database.engine.begin()",
        "receipt = handler.deliver(effect)",
        "parts.labeler.send(name, tasks)",
        "self._source.show(ids)",
    ],
)
def test_a_call_without_its_points_is_found(statement):
    bare = f"def step():\n    {statement}\n"
    around = f"def step():\n    with outside('it'):\n        {statement}\n"

    assert calls_without_points(bare) == [(2, "step")]
    assert calls_without_points(around) == []
