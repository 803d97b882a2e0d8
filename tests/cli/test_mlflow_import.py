"""An MLflow that does not load is reported when the first sample is drawn, not weeks later."""

import sys

from tests.cli.workplace import PEOPLE

STORE = "mlflow.store.tracking.sqlalchemy_store"


def test_a_first_draw_reports_an_mlflow_that_does_not_load(place, monkeypatch):
    place.config(labeling=PEOPLE, mlflow="sqlite:///mlflow.db")
    monkeypatch.setitem(sys.modules, STORE, None)

    ended = place.run("run-once")

    assert "labeling" in ended.out
    assert ended.line("not delivered").startswith("not delivered: MLflow ")
    assert "does not load" in ended.err
    assert ended.code == 75
