"""examples/verdicts_of_an_llm.py fills a column that a monitor reads as its judge's."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from tests.servers import LocalServer, QuietHandler

EXAMPLE = Path(__file__).parents[1] / "examples/verdicts_of_an_llm.py"
SUBJECTS = [
    "win a prize",
    "lunch at noon",
    "a prize of love",
    "it's a {prize}",
    "say nothing",
    "busy",
    "much too long",
]


@contextmanager
def endpoint():
    """An OpenAI-compatible endpoint that judges by a rule: a prize is spam."""
    asked: list[str] = []

    class Handler(QuietHandler):
        def respond(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            text = body["messages"][-1]["content"]
            asked.append(text)
            assert (body["temperature"], self.path) == (0, "/v1/chat/completions")
            assert self.headers["authorization"] == "Bearer secret"
            if text.endswith("busy") and asked.count(text) == 1:
                self.answer(429, b"later")
                return
            if text.endswith("too long"):
                self.answer(400, b"{}")
                return
            verdict = json.dumps({"verdict": "yes" if "prize" in text else "no"})
            content = "I cannot tell" if text.endswith("nothing") else verdict
            choices = [{"message": {"role": "assistant", "content": content}}]
            self.answer(200, json.dumps({"choices": choices}).encode())

    with LocalServer(Handler) as server:
        yield f"{server.root}/v1", asked


def fill(folder, url, source, target):
    """Run the example as its docstring shows."""
    words = [sys.executable, EXAMPLE, source, target, "--url", url, "--model", "rules"]
    done = subprocess.run(
        [*words, "--prompt", "prompt.txt", "--pause", "0.01"],
        cwd=folder,
        env={"LLM_KEY": "secret"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def verdicts(path):
    return duckdb.read_parquet(str(path)).project("verdict").fetchall()


@pytest.fixture(autouse=True)
def predictions(tmp_path):
    (tmp_path / "prompt.txt").write_text("Is this spam? {subject}")
    at = pd.Timestamp("2025-03-01 12:00", tz="UTC")
    rows = pd.DataFrame({"id": range(len(SUBJECTS)), "subject": SUBJECTS, "score": 0.5, "at": at})
    rows.to_parquet(tmp_path / "predictions.parquet")


def test_each_row_gets_its_verdict_and_a_second_run_asks_about_the_others_only(tmp_path):
    with endpoint() as (url, asked):
        first = fill(tmp_path, url, "predictions.parquet", "judged.parquet")
        before = len(asked)
        second = fill(tmp_path, url, "judged.parquet", "judged.parquet")

    assert verdicts(tmp_path / "judged.parquet") == [
        *(("yes",), ("no",), ("yes",), ("yes",), (None,), ("no",), (None,))
    ]
    assert first == "asked about 7 rows: 3 yes, 2 no, 2 without a verdict\n"
    assert second == "asked about 2 rows: 0 yes, 0 no, 2 without a verdict\n"
    assert (before, len(asked)) == (8, 10)  # one was asked twice, since the endpoint was busy
    assert "Is this spam? it's a {prize}" in asked
