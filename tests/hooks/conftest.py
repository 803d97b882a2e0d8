"""Hooks as the config gives them."""

import pytest

from monitor.config.load import load_config

HEAD = """\
monitors:
  - name: mail
    source: {path: p.csv, columns: {id: id, time: at, score: score}, threshold: 0.5}
    schedule: {cron: "0 6 * * MON"}
    labeling: {kind: files}
hooks:
"""


@pytest.fixture
def hooks(tmp_path):
    """Load a config with hooks, one a line."""

    def hooks(*lines):
        path = tmp_path / "config.yaml"
        path.write_text(HEAD + "".join(f"  {line}\n" for line in lines))
        return load_config(path, {"TOKEN": "t0ken"}).hooks

    return hooks
