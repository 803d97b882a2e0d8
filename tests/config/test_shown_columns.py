"""What is said of an entry of `source.columns.show` that cannot be used."""

from __future__ import annotations

import pytest

from tests.config_texts import changed, refusals


@pytest.mark.parametrize(
    ("entry", "where", "why"),
    [
        ("{column: a, kind: svg}", "[0].kind", "it should be 'text', 'json', 'image', 'html'"),
        ("{colunm: a}", "[0].colunm", "there is no such setting here; did you mean column?"),
        ("{table: a}", "[0].table", "it should be a valid list, found 'a'; write [a]"),
        ("{column: a, folder: x}", "[0].folder", "only a column of kind: image has files"),
        ("{column: a, table: [b]}", "[0]", "wanted either a column with its kind, or a table"),
        ("5", "[0]", "it should be a valid string, found a number; put it in quotes"),
        ("{table: [score]}", "", "'score' is the score column; people who see it label what"),
    ],
)
def test_an_entry_that_cannot_be_used_is_told_by_its_own_place(tmp_path, entry, where, why):
    [line] = [
        one
        for one in refusals(tmp_path, changed("[subject, body]", f"[{entry}]"))
        if ".show" in one
    ]

    assert f"source.columns.show{where}: {why}" in line
