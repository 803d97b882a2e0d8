"""The three kinds of judges that are asked keep what `monitor.testing` asks of every one."""

import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import mlflow
import pytest
from mlflow import MlflowClient

from monitor.domain.judging import JudgeSite
from monitor.plugins.judges.command import CommandJudge, CommandJudgeSettings
from monitor.plugins.judges.http import HttpJudge
from monitor.plugins.judges.mlflow_model import MlflowModelJudge, MlflowModelSettings
from monitor.testing import JudgeModelContract
from tests.plugins.judges.asking import http_settings
from tests.plugins.judges.endpoint import endpoint, verdict


def says_yes(text):
    return int(text.split("message ")[1].split()[0].split("}")[0]) % 2 == 0


class TestHttp(JudgeModelContract):
    secret = "sk-secret-key"  # noqa: S105  of no endpoint

    @pytest.fixture(autouse=True)
    def _serve(self, tmp_path):
        self.folder = tmp_path
        with endpoint(lambda text, _: verdict("yes" if says_yes(text) else "no")) as served:
            self.url = served.url
            yield

    def settings(self):
        return http_settings(self.folder, self.url)

    def judge(self):
        return HttpJudge(self.settings())

    def broken(self):
        return HttpJudge(http_settings(self.folder, "http://127.0.0.1:9/v1"))


PROGRAM = """\
import json, sys
for line in sys.stdin:
    number = int(json.loads(line)["text"].split()[1].partition("}")[0])
    print(json.dumps({"verdict": "no" if number % 2 else "yes"}))
"""


class TestCommand(JudgeModelContract):
    def settings(self, program=sys.executable):
        asked = {"command": [program, "-c", PROGRAM], "positive": "yes", "batch": 5}
        return CommandJudgeSettings.model_validate(asked)

    def judge(self):
        return CommandJudge(self.settings(), Path())

    def broken(self):
        return CommandJudge(self.settings("./no-such-program"), Path())


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    """A registry with one version of a model."""
    place = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database takes half a minute to make
        warnings.simplefilter("ignore")
        from mlflow.pyfunc.model import PythonModel  # noqa: PLC0415  it warns of its type hints

        class Even(PythonModel):
            def predict(self, model_input):  # type: ignore[override]
                numbers = model_input["text"].str.extract(r"message (\d+)")[0].astype(int)
                return (numbers % 2 == 0).astype(float)

        model = place / "model"
        mlflow.pyfunc.save_model(model, python_model=Even(), pip_requirements=["mlflow"])
        client = MlflowClient(place.as_uri(), place.as_uri())
        client.create_registered_model("even")
        client.create_model_version("even", str(model))
        yield place.as_uri()


class TestMlflowModel(JudgeModelContract):
    @pytest.fixture(autouse=True)
    def _registered(self, registry):
        self.registry = registry

    def settings(self):
        asked = {"model": "models:/even@champion", "threshold": 0.5}
        return MlflowModelSettings.model_validate(asked)

    def made(self, version):
        aliases = SimpleNamespace(version_of=lambda _: version)
        site = JudgeSite(Path(), self.registry, None, cast("Any", aliases))
        return MlflowModelJudge(self.settings(), site)

    def judge(self):
        return self.made("1")

    def broken(self):
        return self.made("99")
