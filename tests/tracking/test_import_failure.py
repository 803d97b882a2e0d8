"""An MLflow whose library does not load: one sentence, with the packages and the command."""

import sys

import pytest

from monitor.domain.errors import DeliveryFailed
from monitor.tracking.import_failure import import_failure
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings
from tests.tracking.reports import ROUND, make_effect, make_report

VERSIONS = {"mlflow": "3.4.0", "sqlalchemy": "2.1.9"}
STORE = "mlflow.store.tracking.sqlalchemy_store"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            ImportError(
                "cannot import name 'A' from 'sqlalchemy.pool' (/x/y.py)", name="sqlalchemy.pool"
            ),
            "MLflow 3.4.0 does not load beside sqlalchemy 2.1.9: cannot import name 'A' from "
            "'sqlalchemy.pool'. Install an older sqlalchemy or a newer MLflow, and check again: "
            "pip install 'sqlalchemy<2.1', or pip install --upgrade mlflow",
        ),
        (
            ModuleNotFoundError("No module named 'boto3'", name="boto3"),
            "MLflow 3.4.0 needs the package boto3, which is not installed: No module named "
            "'boto3'. Install it, and check again: pip install boto3",
        ),
        (
            ImportError("cannot import name 'B' from 'mlflow.store'", name="mlflow.store"),
            "MLflow 3.4.0 does not load: cannot import name 'B' from 'mlflow.store'. Install it "
            "again: pip install --upgrade mlflow",
        ),
    ],
)
def test_the_packages_that_do_not_go_together_are_named_with_what_to_install(error, sentence):
    assert import_failure(error, VERSIONS.__getitem__) == sentence


def test_an_import_that_fails_on_first_use_is_a_lasting_failure_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, STORE, None)
    handler = MlflowHandler(MlflowSettings(), tmp_path)

    [problem] = handler.check()
    with pytest.raises(DeliveryFailed, match="does not load") as failure:
        handler.deliver(make_effect(ROUND, make_report(1)))

    assert problem == str(failure.value)
    assert "\n" not in problem
    assert failure.value.lasting
