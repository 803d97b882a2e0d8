"""Reference pages that a program writes are as it writes them today."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = runpy.run_path(str(DOCS / "generate.py"))["pages"]()


@pytest.mark.parametrize("name", list(PAGES))
def test_a_reference_page_is_current(name):
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name], "run python docs/generate.py"
