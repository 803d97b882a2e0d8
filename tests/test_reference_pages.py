"""Reference pages that a program writes are as it writes them today."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = runpy.run_path(str(DOCS / "generate.py"))["pages"]()


@pytest.mark.parametrize("name", list(PAGES))
def test_a_reference_page_is_current(name):
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name], "run python docs/generate.py"


def test_the_config_marks_two_or_three_settings_of_a_section_that_exist_and_come_first():
    made = runpy.run_path(str(DOCS / "generate.py"))
    models = {model.__name__: model for model in made["SECTIONS"].values()}
    text = PAGES["reference/config.md"]

    for name, marked in made["CHANGED_BY_MOST"].items():
        assert set(marked.split()) <= set(models[name].model_fields), name
    for section in text.split("\n## ")[1:]:
        rows = [line for line in section.splitlines() if line.startswith(("| `", "| **`"))]
        bold = [line for line in rows if line.startswith("| **`")]
        assert rows[: len(bold)] == bold, section.splitlines()[0]
        assert len(bold) <= 3, section.splitlines()[0]
        assert bold or len(rows) <= 7, f"nothing is marked: {section.splitlines()[0]}"
