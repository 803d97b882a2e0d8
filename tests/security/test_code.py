"""The program runs no code that comes as data: ruff looks, and this where ruff has no rule."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "monitor").rglob("*.py"), *(ROOT / "migrations").rglob("*.py")])

RULES = "S102,S301,S302,S306,S307,S602,S604,S605,TID251"
"""exec, pickle, marshal, mktemp, eval, shells, and what pyproject.toml bans by name."""

parsed = cache(ast.parse)
BUILT_IN = {"compile", "__import__"}
MODEL_LOADERS = {"load_model", "load_pickle", "read_pickle", "to_pickle"}
FOUND_BY_RUFF = """\
eval(x)
exec(x)
os.system(x)
os.popen(x)
subprocess.getoutput(x)
subprocess.run(x, shell=True)
run(x, shell=True)
tempfile.mktemp()
np.load(x)
pd.read_pickle(x)
pd.eval(x)
importlib.import_module(x)
import pickle
import marshal
yaml.load(x, yaml.SafeLoader)
from joblib import load
from mlflow import pyfunc
from importlib import import_module
"""
FOUND_IN_SYNTAX = """\
compile(x, '', 'exec')
__import__(x)
mlflow.sklearn.load_model(x)
table.to_pickle(x)
f(allow_pickle=True)
subprocess.run(x, shell=flag)
"""


def lines_of_ruff(*words, source=None):
    """Line of each finding, also of those that a comment wants silent."""
    command = [sys.executable, "-m", "ruff", "check", "--ignore-noqa", "--output-format=concise"]
    done = subprocess.run(
        [*command, "--no-cache", "--select", RULES, *words],
        cwd=ROOT,
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return re.findall(r"^(\S+):(\d+):\d+: ([A-Z]+\d+)", done.stdout, re.MULTILINE)


def dangers(source):
    """Calls that run, or could run, code that comes as data; with their lines."""
    calls = [node for node in ast.walk(parsed(source)) if isinstance(node, ast.Call)]
    return [(call.lineno, what) for call in calls for what in _dangers_of(call)]


def _dangers_of(call):
    last = getattr(call.func, "attr", None) or getattr(call.func, "id", None)
    if last in MODEL_LOADERS or (last in BUILT_IN and isinstance(call.func, ast.Name)):
        yield ast.unparse(call.func)
    words = {word.arg: word.value for word in call.keywords}
    for word in words.keys() & {"shell", "allow_pickle"}:
        if not isinstance(words[word], ast.Constant) or words[word].value:
            yield f"{word}={ast.unparse(words[word])}"


def sql_from_data(source):
    """SQL texts that are put together from more than words of the program itself."""
    calls = {"text", "exec_driver_sql"}
    return [
        (node.lineno, ast.unparse(node.args[0]))
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.Call)
        and node.args
        and ast.unparse(node.func).rpartition(".")[2] in calls
        and not _is_fixed(node.args[0])
    ]


def _is_fixed(node):
    """Whether a text is a constant, or made of constants: named in capitals, or one of two."""
    if isinstance(node, ast.JoinedStr):
        return all(_is_fixed(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _is_fixed(node.value)
    if isinstance(node, ast.IfExp):
        return _is_fixed(node.body) and _is_fixed(node.orelse)
    if isinstance(node, ast.Name):
        return node.id == node.id.upper()
    return isinstance(node, ast.Constant)


def test_ruff_finds_no_pickle_no_eval_and_no_shell_and_no_comment_silences_it():
    assert len(FILES) > 150
    assert lines_of_ruff("monitor", "migrations") == []


def test_no_model_is_loaded_and_no_data_is_run_as_code():
    found = {str(path.relative_to(ROOT)): dangers(path.read_text()) for path in FILES}

    assert {path: calls for path, calls in found.items() if calls} == {}


def test_each_danger_would_be_found_and_nothing_harmless():
    harmless = "import yaml\nre.compile(x)\nrun(x, shell=False)\nyaml.parse(x)\n"
    imports = "import importlib, os, subprocess, tempfile\nimport numpy as np, pandas as pd, yaml\n"

    by_ruff = lines_of_ruff(
        "--stdin-filename=monitor/x.py", "-", source=imports + FOUND_BY_RUFF + harmless
    )
    in_syntax = dangers(FOUND_IN_SYNTAX)

    first, last = 3, 2 + FOUND_BY_RUFF.count("\n")
    assert {int(line) for _, line, _ in by_ruff} == {*range(first, last + 1)}
    assert {line for line, _ in in_syntax} == {*range(1, FOUND_IN_SYNTAX.count("\n") + 1)}
    assert dangers(harmless) == []


def test_sql_of_the_store_is_never_put_together_from_values():
    found = {
        (str(path.relative_to(ROOT)), sql)
        for path in FILES
        if path.is_relative_to(ROOT / "monitor")
        for _, sql in sql_from_data(path.read_text())
    }

    assert found == set()


def test_sql_from_values_would_be_found():
    fixed = "text('a')\ntext(f'a {_B}')\nexec_driver_sql(f\"a {'b' if c else 'd'}\")\n"

    assert sql_from_data(fixed) == []
    assert sql_from_data("c.exec_driver_sql(f'drop table {x}')\ntext('a' + b)\ntext(sql)") == [
        (1, "f'drop table {x}'"),
        (2, "'a' + b"),
        (3, "sql"),
    ]
