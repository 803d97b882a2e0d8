"""The page about security names tests that exist, and names all that were written for it."""

import ast
import re
from functools import cache
from pathlib import Path

from tests.pages import page

ROOT = Path(__file__).parents[2]
PAGE = page("security-tests")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


@cache
def names_in(path):
    tree = ast.parse((ROOT / path).read_text())
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_each_test_that_the_page_names_exists():
    missing = [f"{path}::{name}" for path, name in NAMED if name not in names_in(path)]

    assert len(NAMED) > 30
    assert missing == []


def test_each_item_of_the_page_names_a_test():
    items = PAGE.partition("## Items and their tests")[2]
    rows = [line for line in items.splitlines() if line.startswith("| ")][1:]

    assert len(rows) > 15
    assert [row for row in rows if "::test_" not in row] == []


def test_no_file_of_these_tests_is_left_out_of_the_page():
    named = {path for path, _ in NAMED}
    own = {f"tests/security/{path.name}" for path in Path(__file__).parent.glob("test_*.py")}

    assert own - named - {"tests/security/test_map.py"} == set()
