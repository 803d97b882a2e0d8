"""The pages of the documentation, for tests that hold them against the program."""

import re
import runpy
from functools import cache
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"


def page(name: str) -> str:
    """Return the Markdown of a page."""
    [path] = DOCS.rglob(f"{name}.md")  # in whichever section it is
    return path.read_text(encoding="utf-8")


def blocks(text: str, *languages: str) -> list[str]:
    """Return the code of fenced blocks in these languages."""
    found = re.findall(r"^( *)```(\w+)\n(.*?)^\1```", text, re.DOTALL | re.MULTILINE)
    return [code for _, language, code in found if language in languages]


@cache
def generator(name: str) -> dict[str, Any]:
    """Return what one of the scripts that make pages defines."""
    return runpy.run_path(str(DOCS / f"{name}.py"))
