"""The table of what the fault tests did, which `docs/reliability.md` shows after `make soak`."""

import time

import pytest

from tests.faults.sizes import SOAK

ROWS = pytest.StashKey[list]()
HEAD = ("test", "what was done", "size", "violations", "minutes")


def pytest_configure(config):
    config.stash[ROWS] = []


def pytest_collection_modifyitems(config, items):
    """Leave out what only the soak runs; there is no reason to wait for it otherwise."""
    if SOAK:
        return
    long = [item for item in items if item.get_closest_marker("soak")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.fixture
def tell_figures(request):
    """Note a row of the table: ``tell_figures("R2", what=..., size=..., violations=0)``."""
    started = time.monotonic()

    def tell(number, *, what, size, violations):
        minutes = f"{(time.monotonic() - started) / 60:.1f}"
        request.config.stash[ROWS].append((number, what, str(size), str(violations), minutes))

    return tell


def pytest_terminal_summary(terminalreporter, config):
    rows = sorted(config.stash[ROWS], key=lambda row: (int(row[0].strip("R")), row[1]))
    if not rows:
        return
    terminalreporter.section("faults")
    for row in (HEAD, ("---",) * len(HEAD), *rows):
        terminalreporter.write_line(f"| {' | '.join(row)} |")
