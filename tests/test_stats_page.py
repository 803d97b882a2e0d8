"""docs/stats.md says what the docstrings of monitor.stats say."""

from __future__ import annotations

import runpy
from pathlib import Path

from monitor import stats

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "stats.md").read_text()


def test_the_page_is_current():
    page = runpy.run_path(str(DOCS / "generate_stats.py"))["page"]

    assert page() == PAGE, "run python docs/generate_stats.py"


def test_the_page_holds_every_public_function_with_its_example():
    functions = [name for name in stats.__all__ if name[0].islower()]

    assert len(functions) > 50
    for name in functions:
        section = PAGE.split(f"\n### {name}\n", 1)[1].split("\n### ", 1)[0]
        assert "```python\n>>> " in section, name


def test_every_fence_is_closed():
    assert PAGE.count("```") % 2 == 0
