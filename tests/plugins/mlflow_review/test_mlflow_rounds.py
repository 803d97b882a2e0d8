"""A round labeled in MLflow's review view, from its draw to its estimate."""

import pytest

from monitor.domain.model import Answer
from monitor.domain.state import RoundState
from monitor.labeling.files import FilesLabeler, FilesSettings
from tests.csv_files import read_rows, write_rows
from tests.plugins.mlflow_review.review_people import View, review_labeler
from tests.rounds.scene import Scene, settings

pytestmark = pytest.mark.server
LABELS = {Answer.POSITIVE: "1", Answer.NEGATIVE: "0", Answer.CANNOT_TELL: "cannot tell"}


def drawn(scene, labeler):
    scene.labeler = labeler
    scene.draw(1)
    return scene


def answers_of(scene):
    """What people are to say: the truth, and of every seventh item that nobody can tell."""
    rows = scene.rows("select key, item_id from tasks order by key")
    return {
        row["key"]: Answer.CANNOT_TELL if place % 7 == 0 else scene.truth[row["item_id"]]
        for place, row in enumerate(rows)
    }


def results_of(scene):
    assert scene.round(1).state is RoundState.CLOSED
    return (
        scene.rows("select * from estimates order by metric, estimand, basis"),
        scene.rows("select * from counts order by stratum"),
    )


def test_a_round_labeled_in_mlflow_has_the_estimate_of_the_same_round_labeled_in_files(
    mlflow_url, store_of, tmp_path
):
    asked = settings(sample=settings().sample.model_copy(update={"max_labels": 24}))
    in_files, in_view = (Scene(store_of(name), asked) for name in ("files", "view"))
    view = View.of_a_new_experiment(mlflow_url)

    drawn(in_files, FilesLabeler(FilesSettings(), tmp_path))
    while in_files.round(1).state is RoundState.LABELING:
        fill(tmp_path / "labels", answers_of(in_files))
        in_files.run()
    drawn(in_view, review_labeler(view.url, view.name, in_view.database, lambda: in_view.now))
    while in_view.round(1).state is RoundState.LABELING:
        view.answer_open(answers_of(in_view).__getitem__)
        in_view.run()

    assert answers_of(in_view) == answers_of(in_files)
    assert results_of(in_view) == results_of(in_files)


def fill(folder, answers):
    for path in folder.glob("*.csv"):
        said = [
            {**row, "label": LABELS[answers[row["task"]]], "annotator": "ada"}
            for row in read_rows(path)
        ]
        write_rows(folder / "filled" / path.name, said)
