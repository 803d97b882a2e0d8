"""Label files of every format by the command line: out with the question, back with the answers."""

import json
from typing import get_args

import pytest

from monitor.cli.commands.labels import ENDINGS, TOOLS
from monitor.labeling.label_files import Format, file_ending

QUESTION = "Is this mail about travel?"
ASKED = f"{{kind: files, question: '{QUESTION}'}}"


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def fill_lines(path, answer):
    path.write_text("".join(json.dumps({**row, **answer(row)}) + "\n" for row in rows_of(path)))


def test_every_format_has_a_name_on_the_command_line():
    assert {*(ending.removeprefix(".") for ending in ENDINGS), *TOOLS} == set(get_args(Format))
    assert {f".{file_ending(each)}" for each in get_args(Format)} == set(ENDINGS)


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        ("prodigy", lambda _: {"answer": "accept"}),
        ("doccano", lambda _: {"label": ["yes"]}),
        (
            "argilla",
            lambda _: {
                "label.responses": ["yes"],
                "label.responses.users": ["u1"],
                "label.responses.status": ["submitted"],
            },
        ),
    ],
)
def test_a_labeling_tool_reads_its_own_rows_and_what_it_writes_is_taken(asked, tool, answer):
    exported = asked.run("labels", "export", "--out", "todo.jsonl", "--for", tool)
    fill_lines(asked.folder / "todo.jsonl", answer)

    done = asked.run("labels", "import", "todo.jsonl")

    assert exported.lines[0].startswith(f"40 items written to todo.jsonl; load them into {tool}")
    assert done.lines[0] == "40 new answers, 0 known already, 0 rows refused"


def test_monitors_with_different_questions_show_each_of_its_tasks_its_own(place):
    place.config(ASKED)
    text = (place.folder / "config.yaml").read_text()
    [before, monitor] = text.split("monitors:\n")
    other = monitor.replace("name: mail", "name: spam").replace(QUESTION, "Is it spam?")
    other = other.replace("kind: files,", "kind: files, folder: other,")
    (place.folder / "config.yaml").write_text(f"{before}monitors:\n{monitor}{other}")
    place.run("run-once")

    tasks = place.as_json("labels", "export")

    assert tasks["question"] is None
    assert {task["question asked"] for task in tasks["tasks"]} == {"Is it spam?", QUESTION}
    assert len(tasks["tasks"]) == 80
