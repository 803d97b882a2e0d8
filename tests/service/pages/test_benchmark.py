"""The benchmark of the page runs, at a tiny size."""

from __future__ import annotations

import os

import pytest

if os.environ.get("CI") != "true":
    pytest.importorskip("selenium", reason="selenium is not installed (requirements/dev.lock)")

from benchmarks.labeling_page import our_page, row
from tests.service.pages.browsers import program

pytestmark = pytest.mark.server


@pytest.mark.slow
def test_each_key_press_is_timed_from_the_key_to_the_next_item():
    for needed in ("chromium", "chromedriver"):
        program(needed)  # or skipped

    found = our_page(items=6, characters=100)

    assert len(found.took) == 5
    assert all(0 < one < 60_000 for one in found.took)
    assert row("ours", found).startswith("| ours | 5 | 1 key | ")
