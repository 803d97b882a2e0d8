"""The program runs no code that comes as data: checked in its syntax, file by file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "monitor").rglob("*.py"), *(ROOT / "migrations").rglob("*.py")])

CODE_FROM_DATA = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "importlib.import_module"),
    *("subprocess.getoutput", "subprocess.getstatusoutput", "tempfile.mktemp"),
    *("yaml.load", "yaml.unsafe_load", "yaml.full_load", "torch.load", "numpy.load", "np.load"),
    *("pandas.read_pickle", "pd.read_pickle", "pandas.eval", "pd.eval"),
}
UNPICKLERS = {
    *("pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"),
    *("torch", "skops", "jsonpickle"),
}
MODEL_LOADERS = {"load_model", "load_pickle", "read_pickle", "to_pickle", "pyfunc"}
ROUND_TRIP = "YAML"


def dangers(source):
    """What in a source text runs, or could run, code that comes as data; with its lines."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(source)):
        found += [(getattr(node, "lineno", 0), what) for what in _of_call(node)]
        found += [(getattr(node, "lineno", 0), what) for what in _of_import(node)]
    return found


def _of_call(node):
    if not isinstance(node, ast.Call):
        return
    name = ast.unparse(node.func)
    if name in CODE_FROM_DATA:
        yield name
    if name.rpartition(".")[2] in MODEL_LOADERS:
        yield name
    if name == ROUND_TRIP:
        kinds = [keyword for keyword in node.keywords if keyword.arg == "typ"]
        if not kinds or ast.unparse(kinds[0].value) not in {"'safe'", "'rt'"}:
            yield "YAML without a safe type"
    for keyword in node.keywords:
        truth = not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
        if keyword.arg in {"shell", "allow_pickle"} and truth:
            yield f"{keyword.arg}={ast.unparse(keyword.value)}"


def _of_import(node):
    names = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    for name in names:
        if set(name.split(".")) & (UNPICKLERS | MODEL_LOADERS) or name == "yaml":
            yield f"import {name}"


def sql_from_data(source):
    """SQL texts that are put together from more than words of the program itself."""
    calls = {"text", "exec_driver_sql"}
    return [
        (node.lineno, ast.unparse(node.args[0]))
        for node in ast.walk(ast.parse(source))
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


def test_there_are_files_to_look_at():
    assert len(FILES) > 150


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_pickle_no_eval_no_shell_no_model_is_loaded(path):
    assert dangers(path.read_text()) == []


def test_sql_of_the_store_is_never_put_together_from_values():
    found = {
        (str(path.relative_to(ROOT)), sql)
        for path in FILES
        if path.is_relative_to(ROOT / "monitor")
        for _, sql in sql_from_data(path.read_text())
    }

    assert found == set()


@pytest.mark.parametrize(
    "line",
    [
        *("eval(x)", "exec(x)", "compile(x, '', 'exec')", "os.system(x)", "__import__(x)"),
        *("import pickle", "from joblib import load", "import a.marshal", "import yaml"),
        *("subprocess.run(x, shell=True)", "subprocess.run(x, shell=flag)"),
        *("np.load(x)", "yaml.load(x)", "mlflow.sklearn.load_model(x)", "pd.read_pickle(x)"),
        *("from mlflow import pyfunc", "YAML()", "YAML(typ='unsafe')", "f(allow_pickle=True)"),
        "importlib.import_module(x)",
    ],
)
def test_each_danger_would_be_found(line):
    assert dangers(f"if True:\n    {line}\n")


def test_what_is_harmless_is_not_called_a_danger():
    assert dangers("re.compile(x)\nrun(x, shell=False)\nyaml = YAML(typ='safe')\n") == []


def test_sql_from_values_would_be_found():
    fixed = "text('a')\ntext(f'a {_B}')\nexec_driver_sql(f\"a {'b' if c else 'd'}\")\n"

    assert sql_from_data(fixed) == []
    assert sql_from_data("c.exec_driver_sql(f'drop table {x}')\ntext('a' + b)\ntext(sql)") == [
        (1, "f'drop table {x}'"),
        (2, "'a' + b"),
        (3, "sql"),
    ]
