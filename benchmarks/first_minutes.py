"""From nothing to the first number: this project, Evidently and NannyML, each in a new environment.

All read the same CSV: 20,000 predictions with over-confident scores, of which 1,000 drawn at random
have a label. The seconds are wall-clock time: of ``pip install`` without a cache, and of the first
run of a script that reads the file and prints precision and recall. One draw of labels may be an
unlucky one, so the intervals of this project are also counted over further draws.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import monitor

ITEMS, LABELS = 20_000, 1_000

OURS = """
import pandas as pd, monitor
items = pd.read_csv("predictions.csv")
labeled = items[items["label"].notna()]
rate = items["predicted"].mean()
found = monitor.evaluate(labeled, predicted="predicted", random=True, flagged_rate=rate)
for name in ("precision", "recall"):
    one = found.estimate(name)
    print(f"{one['point']:.3f} [{one['low']:.3f}, {one['high']:.3f}]")
"""
EVIDENTLY = """
import pandas as pd
from evidently import BinaryClassification, DataDefinition, Dataset, Report
from evidently.metrics import Precision, Recall
items = pd.read_csv("predictions.csv")
columns = BinaryClassification(target="label", prediction_labels="predicted", pos_label=1)
labeled = items[items["label"].notna()].astype({"label": int})
data = Dataset.from_pandas(labeled, DataDefinition(classification=[columns]))
for metric in Report([Precision(), Recall()]).run(data, None).dict()["metrics"]:
    print(f"{metric['value']:.3f}")
"""
NANNYML = """
import nannyml, pandas as pd
items = pd.read_csv("predictions.csv")
known = items["label"].notna()
metrics = ["precision", "recall"]
estimator = nannyml.CBPE(
    problem_type="classification_binary", metrics=metrics, chunk_number=1,
    y_true="label", y_pred="predicted", y_pred_proba="score",
)
estimator.fit(items[known].reset_index(drop=True))
found = estimator.estimate(items[~known].reset_index(drop=True))
frame = found.filter(period="analysis").to_df()
for name in metrics:
    ends = (f"{side}_confidence_boundary" for side in ("lower", "upper"))
    low, high = (frame[name, end].iloc[0] for end in ends)
    print(f"{frame[name, 'value'].iloc[0]:.3f} [{low:.3f}, {high:.3f}]")
"""
# Without the second package, what pip installed on 2026-11-27 could not be imported.
PEERS = {
    "Evidently": (["evidently", "pandas<3"], EVIDENTLY),
    "NannyML": (["nannyml", "statsmodels"], NANNYML),
}


def main(wheel: Path, seed: int = 1, draws: int = 200) -> None:
    """Print a line for each tool; ``make wheel`` makes the wheel of this project."""
    print(f"{'':<14}{'install s':>10}{'MB':>7}{'packages':>10}{'first number s':>16}  ", end="")
    print(f"{'precision':<22}recall")
    tools = {"this project": ([str(wheel.resolve())], OURS), **PEERS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = write_predictions(folder / "predictions.csv", seed)
        print(f"{'truth':<59}{truth[0]:<22.3f}{truth[1]:.3f}")
        for tool, (requirements, script) in tools.items():
            print(f"{tool:<14}" + _measure(folder / tool, requirements, script), flush=True)
        covered = np.mean([_covered(folder, 100 + number) for number in range(draws)], axis=0)
    print(f"intervals of this project that hold the truth, {draws} further draws: ", end="")
    print(f"{covered[0]:.3f} {covered[1]:.3f}")


def _covered(folder: Path, seed: int) -> list[bool]:
    """Whether the intervals for precision and recall hold the truth of another file."""
    path = folder / "predictions.csv"
    truth = write_predictions(path, seed)
    items = pd.read_csv(path)
    labeled, rate = items[items["label"].notna()], items["predicted"].mean()
    found = monitor.evaluate(labeled, predicted="predicted", random=True, flagged_rate=rate)
    ends = (found.estimate(name) for name in ("precision", "recall"))
    return [one["low"] <= true <= one["high"] for one, true in zip(ends, truth, strict=True)]


def write_predictions(path: Path, seed: int) -> tuple[float, float]:
    """Write the file; returns true precision and recall of all its items."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(-2.5, 1.5, ITEMS)
    is_positive = rng.random(ITEMS) < 1 / (1 + np.exp(-logit))
    flagged = logit >= 0
    is_labeled = np.isin(np.arange(ITEMS), rng.choice(ITEMS, LABELS, replace=False))
    pd.DataFrame(
        {
            "id": np.arange(ITEMS),
            "score": 1 / (1 + np.exp(-1.5 * logit)),
            "predicted": flagged.astype(int),
            "label": np.where(is_labeled, is_positive, np.nan),
        }
    ).to_csv(path, index=False)
    hits = np.sum(flagged & is_positive)
    return float(hits / flagged.sum()), float(hits / is_positive.sum())


def _measure(venv: Path, requirements: list[str], script: str) -> str:
    """Install into a new environment and run the script once; returns what it took and printed."""
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python, empty = venv / "bin" / "python", _megabytes(venv)
    pip: list[Path | str] = [python, "-m", "pip", "--disable-pip-version-check"]
    before = len(_output([*pip, "list", "--format=freeze"], venv).splitlines())
    start = time.perf_counter()
    _output([*pip, "install", "--quiet", "--no-cache-dir", *requirements], venv)
    installed = time.perf_counter()
    packages = len(_output([*pip, "list", "--format=freeze"], venv).splitlines()) - before
    size = _megabytes(venv) - empty
    begin = time.perf_counter()
    numbers = _output([python, "-W", "ignore", "-c", script], venv).splitlines()[-2:]
    seconds = f"{time.perf_counter() - begin:>16.1f}  {numbers[0]:<22}{numbers[1]}"
    return f"{installed - start:>10.0f}{size:>7.0f}{packages:>10}{seconds}"


def _output(command: list[Path | str], venv: Path) -> str:
    """Run a command beside the predictions, and return what it printed."""
    environment = {**os.environ, "NML_DISABLE_USAGE_LOGGING": "1", "DO_NOT_TRACK": "1"}
    environment.pop("PYTHONPATH", None)  # the wheel is imported, not this repository
    done = subprocess.run(
        command, cwd=venv.parent, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def _megabytes(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 1e6
