"""Every row of the page wrong-input.md, run through the commands."""

import re
from dataclasses import dataclass

import pytest

from tests.cli.workplace import COLUMN
from tests.pages import page

BY_CLASS = {
    "columns": ("show: [subject]}", "show: [subject], predicted: verdict}"),
    "threshold": ("      threshold: 0.5\n", ""),
}
AT_ONCE = ("matures: 1s", "matures: 0s")
TRUTH = COLUMN.replace("predictions.parquet", "truth.csv").replace(*AT_ONCE)
REFERENCE = "    reference: {}\n    labeling"


@dataclass(frozen=True)
class Row:
    """One row of the page: what each command is promised to say."""

    name: str
    check: str
    round: str
    status: str


def rows_of_the_page():
    lines = [line.strip("| ").split(" | ") for line in page("wrong-input").splitlines()]
    return [Row(*cells) for cells in lines if len(cells) == 4 and cells[0] != "input"]


MISSING_NUMBERS = re.compile("not estimable|of \\d+ answers are missing")
ROWS = {row.name: row for row in rows_of_the_page()}


def quoted(cell):
    """The words of a cell that a command says."""
    match = re.search('"(.*)"', cell)
    return match[1] if match else ""


def predictions(**columns):
    return lambda place: (place.config(), place.predictions(**columns))


def classes(sql, **changes):
    """Predictions whose class stands in a column `verdict`."""

    def write(place):
        place.predictions(verdict=sql)
        place.config(**{**BY_CLASS, **changes})

    return write


def config(**changes):
    return lambda place: (place.predictions(), place.config(**changes))


def csv_twice(place):
    place.write("predictions.csv", "mail_id,scored_at,score,score\n")
    place.config(
        path=("path: predictions.parquet\n      columns", "path: predictions.csv\n      columns")
    )


def cut_off(place):
    place.predictions()
    place.config()
    whole = (place.folder / "predictions.parquet").read_bytes()
    (place.folder / "predictions.parquet").write_bytes(whole[: len(whole) // 2])


def stopped(place):
    place.predictions(scored_at=f"timestamptz '{place.now.isoformat()}' - interval 50 hour")
    place.config()


def truth(
    mail_id,
    is_travel="(i % 5 = 0)::int",
    rows=800,
    id="lpad(i::varchar, 6, '0')",
    known_at="null",
    **changes,
):
    """A truth of its own beside the predictions."""
    columns = {"mail_id": mail_id, "is_travel": is_travel, "known_at": known_at}

    def write(place):
        place.predictions(mail_id=id)
        place.predictions("truth.csv", rows=rows, **columns)
        place.config(TRUTH, **changes)

    return write


def changed_labels(first, second):
    """Two rows for each item, with these times; the first is wrong."""
    return truth(
        "lpad((i % 800)::varchar, 6, '0')",
        is_travel="((i % 5 = 0) != (i < 800))::int",
        rows=1600,
        known_at=f"case when i < 800 then '{first}' else '{second}' end",
        time=("value: is_travel", "value: is_travel, time: known_at"),
    )


ID = "lpad(i::varchar, 6, '0')"
INPUTS = {
    "no file is there": lambda place: place.config(),
    "the file is cut off": cut_off,
    "a CSV header names a column twice": csv_twice,
    "a column is misspelt in the config": config(column=("score: score", "score: scor")),
    "scores are words": predictions(score="'high'"),
    "times name no zone": predictions(scored_at="timestamp '2026-03-02 06:00:00'"),
    "no time can be read": predictions(scored_at="'yesterday'"),
    "ids are fractions": predictions(mail_id="i / 7"),
    "classes are spam and ham, the config names none": classes(
        "case when i % 10 = 0 then 'spam' else 'ham' end"
    ),
    "classes are spam and ham, the config names spam": classes(
        "case when i % 10 = 0 then 'spam' else 'ham' end",
        threshold=("threshold: 0.5", "positive: spam"),
    ),
    "the class of one row is no class": classes(
        "case when i = 700 then 'error' when i % 10 = 0 then '1' else '0' end"
    ),
    "every id appears twice": predictions(mail_id="'m' || (i // 2)"),
    "one id in ten is missing": predictions(mail_id="case when i % 10 > 0 then 'm' || i end"),
    "one score in ten is NaN": predictions(
        score="case when i % 10 = 3 then 'nan'::double when i % 10 = 0 then 0.9 else 0.1 end"
    ),
    "there are no rows at all": predictions(rows=0),
    "predictions ended two days ago": stopped,
    "nothing is flagged": predictions(score="(i % 90) / 200"),
    "everything is flagged": predictions(score="0.5 + (i % 90) / 200"),
    "the threshold is of another scale": config(threshold=("threshold: 0.5", "threshold: 50")),
    "a missing score is written as -1": predictions(
        score="case when i % 10 = 7 then -1 else (i % 90) / 112.5 end"
    ),
    "half of the scores are in percent": predictions(
        score="(i % 90) / 112.5 * case when i % 2 = 0 then 100 else 1 end"
    ),
    "a tenth as much is flagged as in the reference": config(
        reference=("    labeling", REFERENCE.format("{tp: 700, fp: 200, fn: 10, tn: 90}"))
    ),
    "the reference is a file": config(
        reference=("    labeling", REFERENCE.format("{path: before.csv, value: label}"))
    ),
    "where asks for true and rows hold 1": lambda place: (
        place.predictions(env="1"),
        place.config(where=("      threshold", "      where: {env: true}\n      threshold")),
    ),
    "where asks for a value that no row has": lambda place: (
        place.predictions(env="'prod'"),
        place.config(where=("      threshold", "      where: {env: production}\n      threshold")),
    ),
    "where leaves out rows by their case": lambda place: (
        place.predictions(env="case when i % 2 = 0 then 'prod' else 'Prod' end"),
        place.config(where=("      threshold", "      where: {env: prod}\n      threshold")),
    ),
    "half of the model versions are nan": lambda place: (
        place.predictions(version="case when i % 2 = 0 then 'v7' else 'nan' end"),
        place.config(version=("show: [subject]", "show: [subject], model_version: version")),
    ),
    "no file of labels is there": config(
        labels=("path: predictions.parquet, id", "path: truth.csv, id"), at_once=AT_ONCE
    ),
    "the column of labels is misspelt": config(
        labels=("value: is_travel", "value: is_travl"), at_once=AT_ONCE
    ),
    "labels are yes and no": truth(ID, is_travel="case when i % 5 = 0 then 'yes' else 'no' end"),
    "some labels are written with a capital": truth(
        ID,
        is_travel="case when i % 5 > 2 then 'Travel' when i % 5 = 0 then 'travel' else 'no' end",
        positive=("value: is_travel", "value: is_travel, positive: travel"),
    ),
    "some ids of the labels have capitals, and a missing label means negative": truth(
        "case when i % 2 = 0 then 'M' else 'm' end || lpad(i::varchar, 6, '0')",
        id="'m' || lpad(i::varchar, 6, '0')",
        negative=("matures: 0s", "matures: 0s, missing_means: negative"),
    ),
    "some ids of the labels have a prefix, and a missing label means negative": truth(
        "case when i % 2 = 0 then 'order:' else '' end || lpad(i::varchar, 6, '0')",
        negative=("matures: 0s", "matures: 0s, missing_means: negative"),
    ),
    "labels changed, and only the time of the first names a zone": changed_labels(
        "2026-03-03T10:00:00Z", "2026-03-03 11:00"
    ),
    "labels that are not known yet say unknown": truth(
        ID,
        is_travel="case when i % 5 > 2 then 'unknown' when i % 5 = 0 then 'travel' else 'no' end",
        positive=("value: is_travel", "value: is_travel, positive: travel"),
    ),
    "labels changed, and the time of the first lies in the future": changed_labels(
        "2062-03-03T10:00:00Z", "2026-03-03T11:00:00Z"
    ),
    "some items have a positive and a negative label": truth(
        "lpad((case when i < 80 then 640 + 2 * i else i end)::varchar, 6, '0')",
        is_travel="((i % 5 = 0) != (i < 80))::int",
    ),
    "ids of the labels have lost their zeros": truth("i::varchar"),
    "ids of the labels are of another kind": truth("'order-' || i"),
    "three in four labels are missing": truth(
        ID, is_travel="case when i % 4 = 0 then (i % 5 = 0)::int end"
    ),
    "no label is positive": predictions(is_travel="0"),
    "labels belong to the other class": predictions(
        is_travel="(i % 90 < 45)::int", score="(i % 90) / 100"
    ),
    "a value means both classes": classes("'1'", threshold=("threshold: 0.5", "negative: [0, 1]")),
    "threshold and predicted class both decide": config(columns=BY_CLASS["columns"]),
    "labelers are shown the score": config(columns=("show: [subject]", "show: [subject, score]")),
    "a key is misspelt": config(key=("    sample", "    smaple")),
    "a limit is 80": config(limit=("    labeling", "    limits: {recall: 80}\n    labeling")),
    "labels come late and the deadline early": config(
        deadline=("matures: 1s", "matures: 60d, deadline: 5d")
    ),
    "the guideline is not there": config(
        labeling='{kind: page, question: "Travel?", guideline: guideline.md}'
    ),
    "the folder of pictures is not there": config(
        labeling='{kind: page, question: "Travel?"}',
        shown=("show: [subject]", "show: [{column: subject, kind: image, folder: photos}]"),
    ),
    "people are to label in an MLflow that is a file": config(
        labeling='{kind: mlflow, question: "Travel?"}',
        mlflow="sqlite:///mlflow.db",
    ),
    "people are to name classes where there are none": config(
        labeling='{kind: page, question: "What is it about?", answer: class}'
    ),
    "the labeling page asks nothing": config(labeling='{kind: page, question: " "}'),
    "the labeling page is to be for other machines, without more": config(
        listen=("monitors:", 'pages: {listen: "0.0.0.0:8089"}\nmonitors:')
    ),
}


def test_every_row_of_the_page_is_run():
    assert set(INPUTS) == set(ROWS)
    assert len(ROWS) >= 30


@pytest.mark.parametrize("name", INPUTS)
def test_the_commands_say_of_a_wrong_input_what_the_page_says(bare, name):
    row = ROWS[name]
    INPUTS[name](bare)

    checked, ran, status = bare.run("check"), bare.run("run-once"), bare.run("status")

    assert_checked(row, checked)
    assert_ran(row, ran)
    assert_status(row, status)
    if row.status.startswith("ATTENTION"):
        shown = bare.run("show", "1").out
        assert quoted(row.status) in shown or MISSING_NUMBERS.search(shown)


def assert_checked(row, checked):
    grade, words = row.check.split()[0], quoted(row.check)
    if row.check.startswith('"'):
        assert checked.code == 78
        assert words in checked.err
        return
    lines = [line for line in checked.lines if words in line]
    assert lines, checked.out
    assert lines[0].startswith(f"{grade} ".ljust(9))
    of_data = [line for line in checked.lines if re.match("PROBLEM  (source|labels) of", line)]
    assert bool(of_data) == (grade == "PROBLEM")
    assert checked.code == (65 if of_data else 75)  # MLflow is down here


def assert_ran(row, ran):
    said = "\n".join(ran.lines)
    if row.check.startswith('"'):
        assert ran.code == 78
    elif row.round == "refused":
        assert ran.code == 65
        assert " is closed" not in said
        assert " is abandoned" not in said
    elif row.round == "not drawn":
        assert " is closed" not in said
        assert " is labeling" not in said
    elif row.round == "unlabeled":
        assert "no flagged item has a label" in said
    else:
        assert row.round == "closed"
        assert " is closed" in said, said


def assert_status(row, status):
    if row.check.startswith('"'):
        assert (status.code, quoted(row.status) in status.err) == (78, True)
        return
    stands = status.lines[0].removeprefix("mail: ")
    assert stands in row.status.split('"')[0].split(), status.out
    assert quoted(row.status) in status.out
