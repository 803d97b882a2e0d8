"""One contract for every format of label files, each filled as its tool fills it."""

# ruff: noqa: ARG002  the contract passes more than each way needs

import csv
import io
import json
import os
from uuid import UUID

import pytest
from openpyxl import load_workbook

from monitor.domain.model import Answer
from monitor.labeling.files import FilesLabeler, FilesSettings
from monitor.testing import LabelerContract

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


class OnLines(FilledByPeople):
    """The tool writes a JSON object for each task."""

    ending = "jsonl"
    question = QUESTION

    def fill(self, path, said):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        return "".join(json.dumps(row) + "\n" for row in self.written(rows, said)).encode()

    def written(self, rows, said) -> list[dict[str, object]]:
        raise NotImplementedError


class TestCsv(FilledByPeople):
    def fill(self, path, said):
        rows = list(csv.DictReader(io.StringIO(path.read_text(), newline="")))
        answers = next(name for name in rows[0] if name.startswith("label"))
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows({**row, answers: said.get(row["task"], "")} for row in rows)
        return out.getvalue().encode()


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


class TestJsonl(OnLines):
    format = "jsonl"

    def fill(self, path, said):
        return super().fill(path, said).rstrip()

    def written(self, rows, said):
        return [{**row, "label": said.get(row["task"])} for row in rows]


class TestProdigy(OnLines):
    format = "prodigy"

    def written(self, rows, said):
        answers = {
            Answer.POSITIVE: "accept",
            Answer.NEGATIVE: "reject",
            Answer.CANNOT_TELL: "ignore",
        }
        return [
            {
                **row,
                "_input_hash": place,
                "_task_hash": -place,
                "_view_id": "classification",
                "answer": answers[said[row["meta"]["task"]]],
                "_timestamp": 1_700_000_000 + self.saved,
                "_annotator_id": "travel-ada",
                "_session_id": "travel-ada",
            }
            for place, row in enumerate(rows)
            if row["meta"]["task"] in said
        ]


class TestDoccano(OnLines):
    format = "doccano"

    def written(self, rows, said):
        return [
            {
                "id": place,
                **row,
                "label": [YES_NO[said[row["task"]]]] if row["task"] in said else [],
                "Comments": [],
            }
            for place, row in enumerate(rows)
        ]


class TestArgilla(OnLines):
    format = "argilla"

    def written(self, rows, said):
        return [
            {
                **row,
                "_server_id": str(UUID(int=place)),
                **dict.fromkeys(("label.responses", *NAMES), None),
                **(self.response(said[row["id"]]) if row["id"] in said else {}),
            }
            for place, row in enumerate(rows)
        ]

    def response(self, answer):
        return {
            "label.responses": [YES_NO[answer]],
            "label.responses.users": [str(UUID(int=1))],
            "label.responses.status": ["submitted"],
        }


NAMES = ("label.responses.users", "label.responses.status")

del FilledByPeople, OnLines
