"""What a service has loaded is not looked through for garbage."""

import gc
import subprocess
import sys
from types import ModuleType

import pytest

from monitor.service import loaded
from monitor.service.loaded import leave_out_loaded


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    gc.unfreeze()
    monkeypatch.setattr(loaded, "_seen", 0)
    yield
    gc.unfreeze()


def test_what_is_loaded_is_left_out_once(monkeypatch):
    leave_out_loaded()
    first = gc.get_freeze_count()
    made_since = [[i] for i in range(1000)]

    leave_out_loaded()
    again = gc.get_freeze_count()
    monkeypatch.setitem(sys.modules, "loaded_later", ModuleType("loaded_later"))
    leave_out_loaded()

    assert first > 10_000
    assert again <= first
    assert gc.get_freeze_count() >= first + len(made_since)


def test_the_end_of_the_process_clears_up_what_was_left_out():
    program = (
        "import duckdb; duckdb.sql('select 1').fetchall(); "
        "from monitor.service.loaded import leave_out_loaded; leave_out_loaded()"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ended.stderr == ""


def test_garbage_of_loading_is_not_kept():
    class Node:
        ended = 0

        def __init__(self):
            self.itself = self

        def __del__(self):
            Node.ended += 1

    Node()

    leave_out_loaded()

    assert Node.ended == 1
