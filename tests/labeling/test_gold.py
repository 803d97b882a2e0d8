"""Gold items for the labeling page, from the file to the tables of the page."""

import pytest
from sqlalchemy import select

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer, Task
from monitor.labeling.page import MOST_ITEMS, read_gold
from monitor.storage.pages.page_tables import page_gold
from tests.labeling.test_page import page_labeler

TWO = "truth,subject\n1,a flight\nno,a bill\n"


@pytest.mark.parametrize(
    "text",
    [
        TWO,
        TWO.replace(",", ";"),
        TWO.replace(",", "\t"),
        "\ufeff" + TWO.replace("\n", "\r\n") + ",\r\n",
        '"truth","subject"\n"1","a flight"\n"0","a bill"\n',
    ],
    ids=["comma", "semicolon", "tab", "excel", "quoted"],
)
def test_gold_items_are_read_as_spreadsheets_write_them(tmp_path, text):
    path = tmp_path / "gold.csv"
    path.write_bytes(text.encode())

    items = read_gold(path)

    assert [(item.truth, item.shown) for item in items] == [
        (Answer.POSITIVE, {"subject": "a flight"}),
        (Answer.NEGATIVE, {"subject": "a bill"}),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "has no column truth"),
        (b"label,subject\n1,a\n", "has no column truth"),
        (b"truth,subject\n", "has no items"),
        (b"truth,subject\ncannot tell,a\n", "row 2: truth is 1 or 0"),
        (b"truth,subject\n,a\n", "row 2: truth is 1 or 0"),
        (b"truth,subject\n7,a\n", "row 2: truth is 1 or 0"),
        (b"truth,subject\n1,a,b\n", "row 2 has 3 cells under 2 columns"),
        (b"truth,a,a\n1,a,b\n", "two columns of one name"),
        (b'truth,a\n1,"a\n', "is not readable CSV"),
        (b"truth,a\n1,\xff\n", "is not UTF-8"),
        (b"truth,a\n" + b"1,a\n" * (MOST_ITEMS + 1), "has 1,001 items"),
        (b"x" * 11_000_000, "is longer than 10 MB"),
    ],
)
def test_what_is_no_gold_is_refused_with_the_reason(tmp_path, text, why):
    path = tmp_path / "gold.csv"
    path.write_bytes(text)

    with pytest.raises(LabelsRefused, match=why) as refused:
        read_gold(path)

    assert str(refused.value).startswith(f"labeling.gold: {path} ")


def test_a_round_keeps_its_gold_items_as_they_were_and_loses_what_they_showed(database, tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text(TWO)
    labeler = page_labeler(database, tmp_path, gold="gold.csv")
    tasks = [Task("aa", "item", {"subject": "a"})]

    labeler.send("r", tasks)
    path.write_text(TWO.replace("flight", "journey"))
    labeler.send("r", tasks)
    texts = shown(database)
    labeler.close("r")

    assert texts == ["a bill", "a flight"]
    assert shown(database) == []


def shown(database):
    with database.read() as connection:
        rows = list(connection.execute(select(page_gold.c.shown)).scalars())
        return sorted(row["subject"] for row in rows if row is not None)
