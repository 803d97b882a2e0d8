"""Packages beside this one bring sources, labelers and hooks, by entry points."""

import importlib
import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.config import adapters
from monitor.testing import SourceContract, example_rows
from tests import pages
from tests.cli.workplace import NOW, Ended, Workplace
from tests.csv_files import read_rows, write_rows

EXAMPLE = Path(__file__).parent / "jsonl"
CONFIG = """\
store: sqlite:///monitor.db
mlflow: {{tracking_uri: http://127.0.0.1:9}}
monitors:
  - name: mail
    source: {source}
    schedule: {{cron: "0 6 * * MON"}}
    sample: {{max_labels: 20, bands: {{flagged: 1, passed: 1}}}}
    labeling: {labeling}
"""
JSONL = "{kind: jsonl, path: predictions.jsonl, threshold: 0.5, show: [text]}"
DUCKDB = "{path: predictions.parquet, columns: {id: i, time: t, score: s}, threshold: 0.5}"
FILES = "{kind: files}"
ENTRY = "[pr_monitor.sources]\njsonl = monitor_jsonl:ADAPTER\n"


def about(site, name, version, entry_points):
    """Write what an installation leaves behind about a package."""
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    folder.joinpath("METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"
    )
    folder.joinpath("entry_points.txt").write_text(entry_points)


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The example as `test_pip_installs_the_example` finds it, in a folder of its own."""
    site = tmp_path_factory.mktemp("plugin")
    shutil.copy(EXAMPLE / "monitor_jsonl.py", site)
    about(site, "monitor-jsonl", "0.1", ENTRY)
    return site


@pytest.fixture
def package(tmp_path):
    """Write a package with an entry point, as an installation leaves it behind."""

    def make(name, group, kind, code):
        module = name.replace("-", "_")
        site = tmp_path / "site"
        about(site, name, "1.0", f"[{group}]\n{kind} = {module}:ADAPTER\n")
        site.joinpath(f"{module}.py").write_text(code)
        return site

    return make


@pytest.fixture
def ran(tmp_path):
    """Run a command, or a program, in a folder where some packages are installed besides."""
    before, place = set(sys.modules), Workplace(tmp_path)

    def run(*words, site=None, code=None):
        adapters._installed.cache_clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            if site is not None:
                patch.syspath_prepend(site)
            if code is None:
                return place.run(*words)
            with redirect_stdout(io.StringIO()) as out:
                exec(code, {})  # noqa: S102  programs of this file
            return Ended(0, out.getvalue(), "")

    yield run
    adapters._installed.cache_clear()
    for name in set(sys.modules) - before:
        if name.startswith(("acme_", "other_", "monitor_jsonl")):
            del sys.modules[name]


@pytest.fixture
def config(tmp_path):
    def write(source=DUCKDB, labeling=FILES):
        text = CONFIG.format(source=source, labeling=labeling)
        tmp_path.joinpath("config.yaml").write_text(text)

    return write


def write_predictions(path, rows):
    lines = [json.dumps(row | {"time": row["time"] and row["time"].isoformat()}) for row in rows]
    path.write_text("\n".join(lines))


@pytest.mark.usefixtures("_example")
class TestExample(SourceContract):
    """The example keeps what every source keeps."""

    @pytest.fixture
    def _example(self, installed, monkeypatch, tmp_path):
        monkeypatch.syspath_prepend(installed)
        self.folder = tmp_path

    def source(self, rows):
        adapter = importlib.import_module("monitor_jsonl").ADAPTER
        write_predictions(self.folder / "p.jsonl", rows)
        section = {"path": "p.jsonl", "threshold": 0.5, "show": ["text"], "segments": ["country"]}
        return adapter.make(adapter.settings.model_validate(section), self.folder)


def fill(folder):
    [path] = folder.glob("labels/*.csv")
    rows = [row | {"label": "1", "annotator": "ada"} for row in read_rows(path)]
    write_rows(folder / "labels/filled" / path.name, rows)
    return rows


def test_a_config_uses_a_source_of_an_installed_package_from_check_to_estimate(
    installed, config, ran, tmp_path, store_tables
):
    shutil.copy(store_tables, tmp_path / "monitor.db")
    config(source=JSONL)
    write_predictions(
        tmp_path / "predictions.jsonl", example_rows(2000, start=NOW - timedelta(21), days=21)
    )

    checked = ran("check", site=installed)
    opened = ran("run-once", site=installed)
    asked = fill(tmp_path)
    closed = ran("run-once", site=installed)
    shown = ran("show", "1", "--json", site=installed)

    assert checked.code == 75, checked.err  # no MLflow answers
    assert "predictions in the newest window" in checked.out
    assert (opened.code, closed.code) == (0, 75), opened.err + closed.err
    assert len(asked) == 20
    assert all(row["text"].startswith("message") for row in asked)
    page = json.loads(shown.out)
    assert (page["state"], sum(stratum["labeled"] for stratum in page["strata"])) == ("closed", 20)


UNMADE = """
from typing import Literal
from monitor.domain.adapters import Adapter, SourceSettings

class Settings(SourceSettings):
    kind: Literal['queue'] = 'queue'

def make(settings, folder):
    raise KeyError("canary")

ADAPTER = Adapter(Settings, make)
"""
BAD = {
    "ends the import": ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
    "ends the process": ("raise SystemExit('usage: acme')", "SystemExit: usage: acme"),
    "no adapter": ("ADAPTER = dict", "it is of type type, expected an Adapter"),
    "settings of another family": (
        "from monitor.domain.adapters import Adapter\nADAPTER = Adapter(dict, dict)",
        "its settings do not derive from SourceSettings",
    ),
    "another kind than its name": (
        "from typing import Literal\n"
        "from monitor.domain.adapters import Adapter, SourceSettings\n"
        "class Settings(SourceSettings):\n    kind: Literal['kafka'] = 'kafka'\n"
        "ADAPTER = Adapter(Settings, dict)",
        "its settings need `kind: Literal['queue'] = 'queue'`",
    ),
    "settings of a type that is not there": (
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING, Literal\n"
        "from monitor.domain.adapters import Adapter, SourceSettings\n"
        "if TYPE_CHECKING:\n    from pathlib import Path\n"
        "class Settings(SourceSettings):\n"
        "    kind: Literal['queue'] = 'queue'\n    path: Path = 'x'\n"
        "ADAPTER = Adapter(Settings, dict)",
        "its settings cannot be read (PydanticUserError)",
    ),
    "makes no source": (UNMADE, "it cannot be built from its settings (KeyError)"),
}
SOURCES, LABELERS = adapters.SOURCES.names(), adapters.LABELERS.names()
REFUSED = {
    "an unknown kind": (
        {"source": "{kind: parquet}", "labeling": "{kind: file}"},
        f"source.kind: 'parquet' is not known; installed are {', '.join(SOURCES)}, jsonl",
        "labeling.kind: 'file' is not known; did you mean files? "
        f"(installed are {', '.join(LABELERS)})",
    ),
    "settings of its own": (
        {"source": "{kind: jsonl, pth: predictions.jsonl, threshold: high}"},
        "source.pth: there is no such setting here; did you mean path?",
        "source.threshold: it should be a valid number, found 'high'",
        "source.path: this setting is missing",
    ),
}


@pytest.mark.parametrize(("sections", "said"), [(s, t) for s, *t in REFUSED.values()], ids=REFUSED)
def test_what_is_wrong_with_an_installed_kind_or_its_section_is_told(
    installed, config, ran, sections, said
):
    config(**sections)

    refused = ran("check", site=installed)

    assert refused.code == 78
    assert [words for words in said if words not in refused.err] == []


@pytest.mark.parametrize(("code", "why"), BAD.values(), ids=BAD)
def test_a_broken_package_is_named_with_its_entry_point_and_the_reason(
    package, config, ran, code, why
):
    site = package("acme-queue", "pr_monitor.sources", "queue", code)
    config(source="{kind: queue}")

    refused = ran("run-once", site=site)

    assert refused.code == 78
    assert "package acme-queue 1.0 (entry point queue = acme_queue:ADAPTER of pr_" in refused.err
    assert why in refused.err
    assert "Traceback" not in refused.err
    assert "canary" not in refused.err


LOADED = """
import sys
from monitor.config.load import load_config
load_config("config.yaml")
print("acme_queue" in sys.modules)
"""


def test_a_broken_package_does_not_touch_a_config_without_its_kind(package, config, ran):
    site = package("acme-queue", "pr_monitor.sources", "queue", BAD["ends the import"][0])
    config()

    done = ran(site=site, code=LOADED)

    assert done.out.strip() == "False"


def test_a_kind_that_is_built_in_already_is_refused_and_others_go_on(package, config, ran):
    site = package("acme-files", "pr_monitor.labelers", "files", "ADAPTER = None")
    config()

    refused = ran("check", site=site)

    assert refused.code == 78
    assert (
        "labeling.kind: 'files' is provided by package acme-files 1.0 (entry point files = "
        "acme_files:ADAPTER of pr_monitor.labelers) and is built in; uninstall all but one"
    ) in refused.err

    column = "{kind: column, path: predictions.parquet, id: i, value: v, matures: 1d}"
    config(labeling=column)

    assert ran(site=site, code=LOADED).code == 0


def test_a_kind_that_two_packages_bring_is_refused_with_both(package, config, ran):
    package("acme-queue", "pr_monitor.sources", "queue", "")
    site = package("other-queue", "pr_monitor.sources", "queue", "")
    config(source="{kind: queue}")

    refused = ran("check", site=site)

    assert refused.code == 78
    assert "package acme-queue 1.0" in refused.err
    assert "package other-queue 1.0" in refused.err


LABELER = """
from typing import Literal
from pydantic import SecretStr
from monitor.domain.adapters import Adapter
from monitor.domain.settings import Labeling
from monitor.labeling.files import FilesLabeler, FilesSettings

class DeskSettings(Labeling):
    kind: Literal["desk"] = "desk"
    desk: str
    token: SecretStr

class Desk(FilesLabeler):
    name = "desk"

def make(settings, site):
    labeler = Desk(FilesSettings(folder=settings.desk), site.folder)
    print(settings.token.get_secret_value(), site.clock().tzinfo)
    return labeler

ADAPTER = Adapter(DeskSettings, make)
"""
BUILT = """
from monitor.config.load import load_config
from monitor.wiring import build
[context] = build(load_config("config.yaml")).monitors
frozen = context.settings.round
"""
LABELERS_OF_A_ROUND = f"""{BUILT}
print(frozen.labeling, frozen.deadline.days)
print([one.labeler.name for one in context.labelers_of(frozen)])
"""


def test_a_labeler_of_a_package_has_its_secrets_from_files_and_its_rounds_keep_what_is_its_own(
    package, config, ran, tmp_path
):
    site = package("acme-desk", "pr_monitor.labelers", "desk", LABELER)
    config(labeling="{kind: desk, desk: third, token_file: token, deadline: 3d}")
    (tmp_path / "token").write_text("canary\n")

    done = ran(site=site, code=LABELERS_OF_A_ROUND)

    assert done.out.splitlines()[0] == "canary UTC"
    assert "{'kind': 'desk', 'desk': 'third'} 3" in done.out
    assert done.out.splitlines()[-1] == "['desk']"


def test_a_kind_that_a_variable_names_has_its_secrets_in_no_file_either(
    package, config, ran, monkeypatch
):
    monkeypatch.setenv("KIND", "desk")
    site = package("acme-desk", "pr_monitor.labelers", "desk", LABELER)
    config(labeling="{kind: '${KIND}', desk: third, token: canary}")

    refused = ran("check", site=site)

    assert "labeling.token: do not write a secret into this file" in refused.err
    assert "canary" not in refused.err


def test_a_setting_that_is_called_as_its_kind_takes_no_problem_of_another(package, config, ran):
    site = package("acme-desk", "pr_monitor.labelers", "desk", LABELER)
    config(labeling="{kind: desk, desk: 5, deadline: 7}")

    refused = ran("check", site=site)

    assert "labeling.token: this setting is missing" in refused.err
    assert "labeling.desk: it should be a valid string, found a number" in refused.err
    assert "labeling.deadline: " in refused.err


def of_a_round_with(**labeling):
    """Program: whether a round of this labeler has that of the config; what it says if it fails."""
    return f"""{BUILT}
frozen = frozen.model_copy(update={{"labeling": {labeling}}})
[(labeler, *_)] = context.labelers_of(frozen)
print(labeler is context.labeler)
try:
    labeler.collect({{}}, None)
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_round_of_the_same_kind_is_read_as_the_config_says_now(package, config, ran, tmp_path):
    site = package("acme-desk", "pr_monitor.labelers", "desk", LABELER)
    config(labeling="{kind: desk, desk: third, token_file: token}")
    (tmp_path / "token").write_text("canary\n")

    done = ran(site=site, code=of_a_round_with(kind="desk", desk="second"))

    assert done.out.splitlines()[1] == "True"


def test_a_secret_is_not_kept_with_a_round_so_it_is_refused_once_the_config_has_another_kind(
    package, config, ran
):
    site = package("acme-desk", "pr_monitor.labelers", "desk", LABELER)
    config()

    done = ran(site=site, code=of_a_round_with(kind="desk", desk="second"))

    different, refusal = done.out.splitlines()
    assert different == "False"
    assert refusal.startswith("ConfigRefused the labeler of these rounds cannot be used: ")
    assert "token" in refusal


HOOK = """
from typing import Literal
from pydantic import SecretStr
from monitor.domain.adapters import Adapter, HookSettings

class PagerSettings(HookSettings):
    kind: Literal["pager"] = "pager"
    token: SecretStr

class Pager:
    def __init__(self, settings, context):
        self.settings, self.context = settings, context

    def deliver(self, effect):
        secret = self.settings.token.get_secret_value()
        return f"{self.context.name} {secret} {effect.payload['event']}"

ADAPTER = Adapter(PagerSettings, Pager)
"""


def test_a_hook_of_a_package_is_made_of_its_section_and_gets_notices(
    package, config, ran, tmp_path
):
    site = package("acme-pager", "pr_monitor.hooks", "pager", HOOK)
    config()
    with (tmp_path / "config.yaml").open("a") as file:
        file.write("hooks: {night: {kind: pager, token_file: token}}\n")
    (tmp_path / "token").write_text("number 7\n")

    done = ran("alerts", "test", site=site)

    assert "hook night (pager): accepted the test (night number 7 test)" in done.out


@pytest.mark.slow
def test_pip_installs_the_example(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "package", ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*pip, "--no-index", "--quiet", "--target", tmp_path / "site", tmp_path / "package"],
        check=True,
        env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )

    site = tmp_path / "site"
    [entry_points] = site.glob("monitor_jsonl-0.1.dist-info/entry_points.txt")
    assert entry_points.read_text() == ENTRY
    assert (site / "monitor_jsonl.py").read_text() == (EXAMPLE / "monitor_jsonl.py").read_text()


def test_the_page_about_adapters_shows_the_example_as_it_is():
    page = pages.page("adapters")

    assert (EXAMPLE / "monitor_jsonl.py").read_text() in page
    assert '[project.entry-points."pr_monitor.sources"]' in page
