"""`run-once --metrics-file`: the metrics of a pass for the node exporter."""

import os
import shutil
import stat

import pytest

from monitor.files.atomic_write import UNFINISHED
from monitor.service.web.metrics import write_textfile
from tests.cli.workplace import PEOPLE
from tests.service.web.serving import samples

SUCCESS = ("pr_monitor_last_success_timestamp_seconds",)
FAILING = ("pr_monitor_failing", ("monitor", "mail"))


@pytest.fixture
def place(bare):
    bare.predictions()
    bare.config(PEOPLE)
    return bare


def metrics(place):
    return samples((place.folder / "out.prom").read_text())


def test_a_pass_leaves_its_metrics_for_all_to_read(place):
    done = place.run("run-once", "--metrics-file", "out.prom")

    found = metrics(place)
    assert done.code == 0
    assert found["pr_monitor_rounds", ("monitor", "mail"), ("state", "labeling")] == 1
    assert found[FAILING] == 0
    assert found[SUCCESS] >= place.now.timestamp()
    assert stat.S_IMODE((place.folder / "out.prom").stat().st_mode) == 0o644
    assert [path.name for path in place.folder.glob("*.prom*")] == ["out.prom"]
    assert not list(place.folder.glob(".out*"))


@pytest.fixture
def closed_umask():
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("closed_umask")
def test_a_link_under_the_name_of_another_writer_is_not_followed(tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    guessed = f".out.prom.{os.getpid()}{UNFINISHED}"
    (tmp_path / guessed).symlink_to(kept)

    write_textfile(tmp_path / "out.prom", "up 1\n")

    assert (kept.read_text(), (tmp_path / "out.prom").read_text()) == ("as it was", "up 1\n")
    assert stat.S_IMODE((tmp_path / "out.prom").stat().st_mode) == 0o644


def test_a_pass_with_errors_tells_them_and_when_the_last_good_one_was(place, store_tables):
    place.run("run-once", "--metrics-file", "out.prom")
    good = metrics(place)[SUCCESS]
    place.config(PEOPLE, path=("predictions.parquet", "away.parquet"))
    shutil.copy(store_tables, "monitor.db")

    done = place.run("run-once", "--metrics-file", "out.prom")
    after_good = metrics(place)
    (place.folder / "out.prom").write_text("{]")
    place.run("run-once", "--metrics-file", "out.prom")

    assert done.code == 65
    assert (after_good[FAILING], after_good[SUCCESS]) == (1, good)
    assert metrics(place)[FAILING] == 1
    assert SUCCESS not in metrics(place)


def test_a_folder_that_is_not_there_is_named(place):
    done = place.run("run-once", "--metrics-file", "nowhere/out.prom")

    assert done.code == 78
    assert "pr-monitor: nowhere/out.prom: metrics cannot be written: no such file" in done.err
    assert "labeling" in done.out
