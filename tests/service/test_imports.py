"""What worker threads import is loaded before there are threads."""

import runpy

import pytest

from monitor.domain.errors import StoppedByBug
from monitor.service.imports import broken_import
from tests.workers import ROOT, python

NOT_LOADED = """
import ast, sys
from pathlib import Path

import monitor.config.load, monitor.service.loop, monitor.service.pages.serving, monitor.wiring
from monitor.service.imports import import_for_workers

import_for_workers()


def lazy(tree):
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom) and node.module:
                    yield node.module
                elif isinstance(node, ast.Import):
                    yield from (name.name for name in node.names)


for name, module in sorted(sys.modules.items()):
    if name.startswith("monitor."):
        for wanted in lazy(ast.parse(Path(module.__file__).read_text())):
            if wanted.split(".")[0] in {"monitor", "numpy", "scipy"} and wanted not in sys.modules:
                print(wanted, "by", name)
"""
ELSEWHERE = {
    "monitor.api",  # for notebooks and commands
    "monitor.config.adapters",  # with the config
    "monitor.service.pages.serving",  # with the pages, before there are threads
}


def test_no_thread_of_the_service_is_the_first_to_import_a_module():
    done = python("-c", NOT_LOADED, cwd=ROOT)

    importers = {line.rpartition(" by ")[2]: line for line in done.stdout.splitlines()}
    assert done.stderr == ""
    assert importers.keys() == ELSEWHERE, importers


def test_formats_of_label_files_are_loaded_before_there_are_threads():
    formats = 'print(*sorted(name for name in sys.modules if "plugins.label_formats." in name))'
    code = "import sys\nfrom monitor.service.imports import import_for_workers\n"
    code += f"import_for_workers()\n{formats}"

    done = python("-c", code)

    names = [name.rpartition(".")[2] for name in done.stdout.split()]
    assert names == ["argilla", "doccano", "prodigy", "workbook"]


def body_of_a_module(folder):
    path = folder / "descriptors.py"
    path.write_text("raise TypeError('no such descriptor')\n")
    runpy.run_path(str(path))


def partial(_):
    message = "cannot import name 'x' from partially initialized module 'y'"
    raise ImportError(message)


def missing(_):
    import no_such_library  # type: ignore[import-not-found]  # noqa: F401, PLC0415


def plain(_):
    message = "no such thing"
    raise KeyError(message)


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (partial, "ImportError: cannot import name 'x' from partially initialized module 'y'"),
        (body_of_a_module, "TypeError: no such descriptor"),
        (missing, None),
        (plain, None),
    ],
)
def test_an_import_that_stays_broken_is_told_from_other_bugs(tmp_path, step, what):
    with pytest.raises(Exception) as caught:  # noqa: PT011  whatever it is
        step(tmp_path)

    assert broken_import(StoppedByBug.of(caught.value)) == what
