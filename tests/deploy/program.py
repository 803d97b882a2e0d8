"""What orchestrators call in tests: the program of this checkout, and stand-ins that only end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import cannot_start
from tests.small_config import configure

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"

ENDS_AS_TOLD = """\
#!/bin/sh
echo called >> "$0.calls"
for word; do last=$word; done
[ "$last" = sleep ] && exec sleep 600
exit "$last"
"""
"""Ends with the code that stands in place of the config, or not at all."""


def installed(folder, program, target):
    """A program of an environment of its own, which a make target installs."""
    path = ROOT / folder / "bin" / program
    if not path.exists():
        cannot_start(f"{program} is not installed (make {target})")
    return path


def said_by(place, home, *words, **variables):
    """Call a program of such an environment, with these variables alone; returns what it says."""
    done = subprocess.run(
        [str(place / words[0]), *map(str, words[1:])],
        cwd=home,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(home),  # a worker's own, which is none of the program's business
            **variables,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def stand_in(folder):
    return script(folder / "stand-in", ENDS_AS_TOLD)


class Installed:
    """`pr-monitor` with a config, as on an orchestrator's worker, which notes its variables."""

    def __init__(self, folder):
        configure(folder)
        self.config = folder / "config.yaml"
        self.labels = folder / "labels"
        self._noted = folder / "variables"
        self.path = script(
            folder / "pr-monitor",
            f"#!/bin/sh\nenv > '{self._noted}'\n"
            f"PYTHONPATH='{ROOT}' exec '{sys.executable}' -m monitor \"$@\"\n",
        )

    @property
    def variables(self):
        """Those that the last call was given, as NAME=value."""
        return self._noted.read_text().splitlines()


@pytest.fixture
def program(folder):
    """The program with a small config, and three weeks of predictions."""
    return Installed(folder)
