"""The pages of the documentation, for tests that hold them against the program."""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"


def path_of(name: str) -> Path:
    """Return the file of a page, in whichever section it is."""
    [path] = DOCS.rglob(f"{name}.md")
    return path


def page(name: str) -> str:
    """Return the Markdown of a page."""
    return path_of(name).read_text(encoding="utf-8")


@cache
def generator(name: str) -> dict[str, Any]:
    """Return what one of the scripts that make pages defines."""
    return runpy.run_path(str(DOCS / f"{name}.py"))
