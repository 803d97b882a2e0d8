"""The tutorial about the guardrail runs as it stands, and comes near the truth that it names."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.mlflow_server import MlflowServer
from tests.pages import blocks, page

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/guardrail.py"
BIN = Path(sys.executable).parent


def rates(weeks):
    """Precision, recall and flagged messages a week by the example's own truth."""
    example = runpy.run_path(str(EXAMPLE))
    decided = [
        (example["score"](message.text) >= example["THRESHOLD"], message.is_toxic)
        for number, message in enumerate(example["messages"]())
        if number // example["PER_WEEK"] in weeks
    ]
    flagged = [toxic for flag, toxic in decided if flag]
    hits, toxic = sum(flagged), sum(toxic for _, toxic in decided)
    return hits / len(flagged), hits / toxic, len(flagged) / len(weeks)


def test_the_tutorial_names_the_truth_of_its_example():
    text = " ".join(page("guardrail").split())
    precision, recall, before = rates(range(8))
    _, fallen, after = rates(range(8, 12))

    assert f"precision is {precision:.2f} and recall {recall:.2f} over" in text
    assert f"flagged messages, {after:.0f} a week for {before:.0f}" in text
    assert f"The recall of these weeks is {fallen:.2f}" in text


def test_the_tutorial_takes_eight_commands():
    assert len("".join(blocks(page("guardrail"), "sh")).splitlines()) == 8


@pytest.mark.slow
def test_the_tutorial_ends_in_an_alert_on_recall(tmp_path):
    text = page("guardrail")
    labeling, limits = blocks(text, "yaml")
    shutil.copy(EXAMPLE, tmp_path)
    config = tmp_path / "config.yaml"
    printed = []
    with MlflowServer(tmp_path) as server:
        environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
        for part in re.split(r"^## ", text, flags=re.MULTILINE):
            if part.startswith("3."):
                lines = [each for each in config.read_text().splitlines() if "#" not in each[:6]]
                monitor = yaml.safe_load("\n".join(lines))
                monitor["monitors"][0] |= yaml.safe_load(labeling)
            if part.startswith("4."):
                monitor["monitors"][0] |= yaml.safe_load(limits)
            if part[:2] in {"3.", "4."}:
                config.write_text(yaml.safe_dump(monitor))
            for line in "".join(blocks(part, "sh")).splitlines():
                if line.startswith("mlflow server"):
                    continue
                command = line.replace("http://127.0.0.1:5000", server.url)
                if line.startswith("python"):
                    command += f" --tracking-uri {server.url}"
                done = subprocess.run(
                    shlex.split(command),
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == 0, done.stderr
                printed.append(done.stdout)

    assert "recall at least 0.706  firing  fired" in printed[-1]
