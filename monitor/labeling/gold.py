"""Gold items for the labeling page: items whose truth is known, read from a CSV file."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer
from monitor.labeling.cells import answer_of, text_of, unescape
from monitor.labeling.reading import LONGEST_CELL, cells_up_to, read_text
from monitor.storage.pages.control_store import GoldItem

TRUTH = "truth"
MOST_BYTES = 10_000_000
MOST_ITEMS = 1000


def read_gold(path: Path) -> list[GoldItem]:
    """Read gold items: column ``truth`` has 1 or 0, and people see the others under their names."""
    return _items(path, read_text(path, "labeling.gold", MOST_BYTES))


def _items(path: Path, text: str) -> list[GoldItem]:
    line = text.partition("\n")[0]
    heads = {each: next(csv.reader([line], delimiter=each), []) for each in ",;\t"}
    separator = next((each for each in heads if TRUTH in map(text_of, heads[each])), None)
    if separator is None:
        why = f"has no column {TRUTH}; the first row names the columns, one of them {TRUTH}"
        raise _refused(path, why)
    try:
        with cells_up_to(LONGEST_CELL):
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise _refused(path, f"is not readable CSV: {error}; save it again as CSV") from error
    header = [text_of(cell) for cell in rows[0]]
    if len(set(header)) < len(header):
        raise _refused(path, "has two columns of one name; rename one")
    filled = [(n, row) for n, row in enumerate(rows[1:], start=2) if any(map(str.strip, row))]
    if not filled:
        raise _refused(path, "has no items; add some, or leave the setting out")
    if len(filled) > MOST_ITEMS:
        raise _refused(path, f"has {len(filled):,} items; up to {MOST_ITEMS:,} are of use")
    return [_item(path, number, header, row) for number, row in filled]


def _item(path: Path, number: int, header: list[str], row: list[str]) -> GoldItem:
    if len(row) != len(header):
        cells = f"{len(row)} cells under {len(header)} columns"
        why = f"row {number} has {cells}; quote cells with commas"
        raise _refused(path, why)
    texts = dict(zip(header, row, strict=True))
    try:
        truth = answer_of(texts.pop(TRUTH))
    except ValueError:
        truth = None
    if truth not in {Answer.POSITIVE, Answer.NEGATIVE}:
        raise _refused(path, f"row {number}: {TRUTH} is 1 or 0, for what is known")
    return GoldItem(Answer(truth), {name: unescape(cell) for name, cell in texts.items()})


def _refused(path: Path, why: str) -> LabelsRefused:
    return LabelsRefused(f"labeling.gold: {path} {why}")
