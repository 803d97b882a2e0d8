"""A round labeled in MLflow's review view, by the commands alone."""

import pytest

from monitor.domain.model import Answer
from tests.plugins.mlflow_review.review_people import View

pytestmark = [pytest.mark.server, pytest.mark.slow]
QUESTION = "Is it about travel?"
LABELING = f'{{kind: mlflow, question: "{QUESTION}"}}'


def test_what_people_answer_in_mlflow_is_in_the_estimates_after_the_next_pass(bare, mlflow_url):
    prefix = View.of_a_new_experiment(mlflow_url).name.partition("/labels")[0]
    view = View(mlflow_url, f"{prefix}/mail/labels")
    bare.predictions()
    bare.config(labeling=LABELING, mlflow=f"{mlflow_url}, experiment_prefix: {prefix}")

    checked = bare.run("check")
    bare.run("run-once")
    view.answer_open(
        lambda key: Answer.POSITIVE if int(key[-1], 16) % 2 else Answer.NEGATIVE, question=QUESTION
    )
    closed = bare.run("run-once")
    shown = bare.run("show", "1")

    assert f"MLflow's review view at {mlflow_url}, experiment {view.name}" in checked.out
    assert closed.code == 0, closed.err
    assert "closed" in shown.out
    assert "ada" not in shown.out
