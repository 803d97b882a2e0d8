"""The pages made of docstrings: monitor.stats, monitor, the metrics."""

from __future__ import annotations

import monitor
from monitor import stats
from monitor.stats.core.metrics import METRICS
from tests.pages import generator

MADE = generator("generate_stats")
PAGE = MADE["page"]()


def test_the_page_about_python_has_every_public_function_of_monitor():
    page = MADE["python_page"]()

    assert [name for name in monitor.__all__ if f"\n## {name}\n" not in page] == []


def test_the_page_about_metrics_has_a_row_for_each():
    page = MADE["metrics_page"]()

    assert [name for name in METRICS if f"| `{name}`: " not in page] == []


def test_the_page_holds_every_public_function_with_its_example():
    functions = [name for name in stats.__all__ if name[0].islower()]

    assert len(functions) > 50
    for name in functions:
        section = PAGE.split(f"\n### {name}\n", 1)[1].split("\n### ", 1)[0]
        assert "```python\n>>> " in section, name


def test_every_fence_is_closed():
    assert PAGE.count("```") % 2 == 0
