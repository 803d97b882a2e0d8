"""examples/quickstart.ipynb prints what it shows, and the image in it is the one it draws."""

import ast
import json
from pathlib import Path

import pytest

from tests.workers import python

ROOT = Path(__file__).parents[1]
CELLS = json.loads((ROOT / "examples/quickstart.ipynb").read_text())["cells"]
SHOW = """
_shown = {}
if _shown is not None:
    print(end=_shown._repr_svg_() if hasattr(_shown, "_repr_svg_") else f"{{_shown!r}}\\n")
"""


def program(source):
    """Write a cell as a notebook runs it: the value of a last expression is shown."""
    tree = ast.parse(source)
    if isinstance(tree.body[-1], ast.Expr):
        value = ast.unparse(tree.body.pop())
        return ast.unparse(tree) + SHOW.format(value)
    return source


def shown(cell):
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/svg+xml" in data:
            yield "".join(data["image/svg+xml"])
        elif data:
            yield "".join(data["text/plain"]) + "\n"
        else:
            yield "".join(output["text"])


@pytest.mark.slow
def test_the_notebook_prints_what_it_shows(tmp_path):
    cells = [cell for cell in CELLS if cell["cell_type"] == "code"]
    code = "\n".join(
        ["import warnings\nwarnings.simplefilter('ignore')"]
        + [program("".join(cell["source"])) for cell in cells]
    )

    done = python("-c", code, cwd=tmp_path, PATH="")

    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "".join(text for cell in cells for text in shown(cell))
