"""docs/stats.md says what the docstrings of monitor.stats say."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "stats.md").read_text()


def test_the_page_is_current_and_closes_every_fence():
    page = runpy.run_path(str(DOCS / "generate_stats.py"))["page"]

    assert page() == PAGE, "run python docs/generate_stats.py"
    assert PAGE.count("```") % 2 == 0
