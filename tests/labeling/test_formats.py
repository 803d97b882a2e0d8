"""One contract for the formats of label files; `test_tool_rows.py` has those of tools."""

# ruff: noqa: ARG002  the contract passes more than each way needs

import io
import json
import os

import pytest
from openpyxl import load_workbook

from monitor.domain.model import Answer
from monitor.labeling.files import FilesLabeler, FilesSettings
from monitor.testing import LabelerContract
from tests.csv_files import as_csv, read_rows

QUESTION = "Is this mail really about travel?"
YES_NO = {Answer.POSITIVE: "yes", Answer.NEGATIVE: "no", Answer.CANNOT_TELL: "cannot tell"}


class FilledByPeople(LabelerContract):
    """People open the task file, fill it and save it into the folder of filled ones."""

    format = "csv"
    question: str | None = None
    ending = "csv"

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path / "labels"
        self.saved = 0

    def labeler(self):
        settings = {"format": self.format, "question": self.question}
        return FilesLabeler(FilesSettings.model_validate(settings), self.folder.parent)

    def seen_by_people(self, labeler, round_name):
        return "".join(self.text(path) for path in self.folder.glob(f"{round_name}.*"))

    def text(self, path):
        return path.read_text()

    def give(self, labeler, answers):
        said = {task.key: answers[task.item_id] for task in self.tasks if task.item_id in answers}
        filled = self.folder / "filled" / f"ada.{self.ending}"
        filled.write_bytes(self.fill(self.folder / f"round-1.{self.ending}", said))
        self.saved += 1
        os.utime(filled, ns=(self.saved, self.saved))

    def fill(self, path, said) -> bytes:
        raise NotImplementedError


class TestCsv(FilledByPeople):
    def fill(self, path, said):
        rows = [{**row, "label": said.get(row["task"], "")} for row in read_rows(path)]
        return as_csv(rows).encode()


class TestXlsx(FilledByPeople):
    format = ending = "xlsx"
    question = QUESTION

    def text(self, path):
        rows = load_workbook(path).active.iter_rows(values_only=True)
        return " ".join(str(cell) for row in rows for cell in row)

    def fill(self, path, said):
        book = load_workbook(path)
        sheet = book.active
        header = [cell.value for cell in sheet[1]]
        place = header.index(f"label: {QUESTION}")
        for row in sheet.iter_rows(min_row=2):
            answer = said.get(row[0].value)
            row[place].value = None if answer is None else YES_NO[answer]
        out = io.BytesIO()
        book.save(out)
        return out.getvalue()


class TestJsonl(FilledByPeople):
    format = ending = "jsonl"
    question = QUESTION

    def fill(self, path, said):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        filled = [{**row, "label": said.get(row["task"])} for row in rows]
        return "\n".join(map(json.dumps, filled)).encode()


del FilledByPeople
