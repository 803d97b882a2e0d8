"""Labels by hand, from the draw to a correction after the round has closed."""

import shutil

import pytest

from tests.cli.workplace import PEOPLE, save
from tests.csv_files import read_rows

MLFLOW = "sqlite:///mlflow.db"


def truth(row):
    """Answer as a person would: positive where the subject's number ends in 0."""
    return "1" if row["subject"].endswith("0") else "0"


def estimate_of(page, metric):
    [found] = [
        row
        for row in page["estimates"]
        if (row["metric"], row["basis"], row["estimand"]) == (metric, "round", "rate")
    ]
    return found["point"]


@pytest.fixture
def handed_out(place, mlflow_tables):
    """A round that waits for labels, and the file with its 40 items."""
    shutil.copy(mlflow_tables, place.folder / "mlflow.db")
    place.config(PEOPLE, mlflow=MLFLOW)
    drawn = place.run("run-once")
    assert drawn.code == 0
    exported = place.run("labels", "export", "--out", "todo.csv")
    assert exported.lines == [
        "40 items written to todo.csv; fill the column label with 1, 0 or cannot tell; "
        "a few of the latter widen intervals much, since these allow for either answer"
    ]
    return place.folder / "todo.csv"


def typed_by_hand(filled):
    """Return the rows as an editor left them: a typo, a row twice and an id that is none."""
    typed = [{**row} for row in filled]
    typed[4]["label"] = "maybe"
    typed[9] = {**typed[8]}
    typed[14]["task"] = "0000feed"
    return typed


def closed_by_hand(place, handed_out):
    """Import the hand-filled file, then the mended one, until the round closes; all is told."""
    rows = read_rows(handed_out)
    assert list(rows[0]) == ["task", "subject", "label", "annotator", "note"]  # blind
    filled = [{**row, "label": truth(row)} for row in rows]

    save(handed_out, typed_by_hand(filled))
    first = place.run("labels", "import", "todo.csv")
    waiting = place.run("run-once")
    save(handed_out, filled)
    second, again = (place.run("labels", "import", "todo.csv") for _ in range(2))
    closed = place.run("run-once")

    return filled, first, waiting, second, again, closed


def test_a_file_filled_by_hand_is_taken_row_by_row_and_corrected_later(place, handed_out):
    filled, first, waiting, second, again, closed = closed_by_hand(place, handed_out)

    refused = [line.partition(": ")[2].partition(":")[0] for line in first.lines[:3]]
    assert refused == [f"todo.csv row {number}" for number in (6, 11, 16)]
    assert first.lines[3] == "37 new answers, 0 known already, 3 rows refused"
    assert "is labeling: 37 of 40 answers, deadline" in waiting.out
    assert second.lines[0] == "3 new answers, 37 known already, 0 rows refused"
    assert again.lines == ["0 new answers, 40 known already, 0 rows refused"]
    assert closed.lines == [f"mail: round 1 (due {place.at(place.slot)} UTC) is closed"]
    codes = [each.code for each in (first, waiting, second, again, closed)]
    assert codes == [65, 0, 0, 0, 0]
    older_answers_stay(place, handed_out, filled)
    a_correction_makes_version_2_and_leaves_version_1(place, handed_out, filled)


def older_answers_stay(place, handed_out, filled):
    """An import says which answers are older than those that count."""
    row = next(row for row in filled if row["label"] == "1")
    save(handed_out, [{**row, "label": "0", "labeled_at": "2020-01-01T00:00:00+00:00"}])

    older = place.run("labels", "import", "todo.csv")
    again = place.run("labels", "import", "todo.csv")

    assert older.lines == [
        "0 new answers, 0 known already, 0 rows refused",
        "1 answer older than what the same person answered later by labeled_at, which stays: "
        "correct labeled_at, or leave it empty, and import it again",
    ]
    assert again.lines == ["0 new answers, 1 known already, 0 rows refused"]


def a_correction_makes_version_2_and_leaves_version_1(place, handed_out, filled):
    """What was reported stays readable as it was."""
    before = place.as_json("show", 1)
    changed = next(row for row in filled if row["label"] == "1")
    save(handed_out, [{**changed, "label": "0"}])

    late = place.run("labels", "import", "todo.csv")
    corrected = place.run("run-once")

    assert late.lines[0] == "0 new answers, 1 changed, 0 known already, 0 rows refused"
    due = f"due {place.at(place.slot)} UTC"
    assert corrected.lines == [f"mail: round 1 ({due}) is closed, version 2"]
    version_1 = place.as_json("show", 1, "--version", 1)
    version_2 = place.as_json("show", 1)
    kept = ("version", "strata", "estimates", "evidence", "slot", "window")
    assert {key: version_1[key] for key in kept} == {key: before[key] for key in kept}
    assert (version_2["version"], version_1["latest_version"]) == (2, 2)
    assert estimate_of(version_2, "precision") < estimate_of(version_1, "precision")
    earlier = place.run("show", 1, "--version", 1).lines
    assert any(line.startswith("version 1 of 2") for line in earlier)
    corrected_in_sql(place)
    one_run_each_in_mlflow(place)


def corrected_in_sql(place):
    """One positive less among the flagged, and the first matrix still there."""
    matrices = place.query("select version, tp, fp from confusion_matrices order by version")
    (first_version, tp, fp), corrected = matrices
    assert (first_version, *corrected) == (1, 2, tp - 1, fp + 1)


def one_run_each_in_mlflow(place):
    """The round and the fleet have one run each, which shows the newer version."""
    runs = place.query(
        "select e.name, t.value from tags t join runs r using (run_uuid) "
        "join experiments e using (experiment_id) where t.key = 'monitor.version' order by 1",
        store="mlflow.db",
    )
    assert runs == [("monitor", "2"), ("monitor/mail", "2")]
