"""Labels of whole rounds with a judge, through `backfill`: draw, labels, estimates in the store.

Predictions follow the first classifier of Shang et al. 2023, Table 4. Each monitor plans for
intervals of +-.05 on average (`assurance: null`). Figures are of the rounds from the third on, and
`held` counts the intervals of all rounds that hold the window's own value.
"""

import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from scipy import special

from benchmarks.harness import Flags
from benchmarks.judge import JUDGES
from benchmarks.strata import CLASSIFIERS

FIRST_COUNTED = 3
MONITOR = """
  - name: {name}
    source:
      kind: duckdb
      path: predictions.parquet
      columns: {{id: id, time: at, {read}
    schedule: {{cron: "0 0 * * 1"}}
    sample: {{margin: {{precision: 0.05, recall: 0.05}}, max_labels: 20000, assurance: null}}
    labeling: {{kind: column, path: truth.parquet, id: id, value: truth, matures: 0d}}
"""
JUDGE = '    judge: {{column: "{column}", positive: true}}\n'
ROUNDS = """
select r.number, r.window_start as start, e.metric, e.low, e.high,
    (select sum(s.planned) from strata s where s.round_id = r.id) as labels
from rounds r join monitors m on m.id = r.monitor_id
join estimates e on e.round_id = r.id and e.version = r.version
where m.name = ? and e.basis = 'round' and e.estimand = 'window'
    and e.metric in ('precision', 'recall')
"""
START = pd.Timestamp("2026-01-05", tz="UTC")


def main(
    score: Literal["weak", "good"] = "weak",
    weeks: int = 8,
    size: int = 100_000,
    judges: tuple[str, ...] = tuple(JUDGES),
    seed: int = 3,
) -> None:
    """Print a line for each judge."""
    frame = generated(score, weeks * size, judges, seed)
    compare(frame, judges, weeks, CLASSIFIERS["Phi1"][2])


def generated(score: str, rows: int, judges: tuple[str, ...], seed: int) -> pd.DataFrame:
    """Scores, classes, truth, and the verdicts of every judge, of so many items."""
    rng = np.random.default_rng(seed)
    mu, sigma, threshold = CLASSIFIERS["Phi1"]
    p = special.expit(mu + sigma * rng.standard_normal(rows))
    up = p >= threshold
    rate = p.copy()
    for of in (up, ~up) if score == "weak" else ():
        rate[of] = p[of].mean() + 0.25 * (p[of] - p[of].mean())
    truth = rng.random(rows) < rate
    verdicts = {judge: _verdicts(truth, up, JUDGES[judge], rng) for judge in judges}
    return pd.DataFrame({"score": p, "flagged": up, "truth": truth, **verdicts})


def _verdicts(truth: Flags, up: Flags, judge: tuple[float, ...], rng: np.random.Generator) -> Flags:
    tp, fn, fp, tn = judge
    yes = np.where(truth, np.where(up, tp, fn), np.where(up, fp, tn))
    return np.asarray(rng.random(len(truth)) < yes)


def compare(
    frame: pd.DataFrame, judges: Sequence[str], weeks: int, threshold: float | None
) -> None:
    """Backfill weeks of these items without and with each judge, and print a line for each.

    Without a threshold, the monitors know the class and no score.
    """
    read = (
        "predicted: flagged}"
        if threshold is None
        else f"score: score}}\n      threshold: {threshold}"
    )
    names = {"no-judge": None, **{f"judge-{i}": judge for i, judge in enumerate(judges)}}
    entries = "".join(
        MONITOR.format(name=name, read=read) + ("" if judge is None else JUDGE.format(column=judge))
        for name, judge in names.items()
    )
    until = START + pd.Timedelta(weeks=weeks)
    span = ["--from", f"{START:%Y-%m-%d}", "--to", f"{until:%Y-%m-%d}"]
    command = [sys.executable, "-m", "monitor", "backfill", *span]
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        truth = write_predictions(folder, frame, weeks)
        (folder / "config.yaml").write_text(f"store: sqlite:///monitor.db\nmonitors:{entries}")
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        print("judge                  labels  ratio  half-widths: precision, recall  held")
        base = 0.0
        for name, judge in names.items():
            base = say(folder, name, judge or "none", base, truth)


def write_predictions(folder: Path, frame: pd.DataFrame, weeks: int) -> "pd.Series[float]":
    """Write predictions, evenly over the weeks, and truth; returns metrics by week and name."""
    seconds = np.arange(len(frame)) * (weeks * 7 * 86_400 / len(frame))
    at = START + pd.to_timedelta(seconds, unit="s")
    frame = frame.assign(id=np.arange(len(frame)), at=at)
    frame.drop(columns="truth").to_parquet(folder / "predictions.parquet")
    frame[["id", "truth"]].astype(int).to_parquet(folder / "truth.parquet")
    week = (
        frame.assign(
            start=START.tz_localize(None)
            + pd.to_timedelta(7 * (seconds // (7 * 86_400)), unit="D"),
            tp=frame.truth & frame.flagged,
        )
        .groupby("start")[["truth", "flagged", "tp"]]
        .sum()
    )
    shares = {"precision": week.tp / week.flagged, "recall": week.tp / week.truth}
    long = pd.DataFrame(shares).melt(ignore_index=False, var_name="metric")
    values: pd.Series[float] = long.set_index("metric", append=True)["value"]
    return values


def say(folder: Path, name: str, judge: str, base: float, truth: "pd.Series[float]") -> float:
    """Print what one monitor asked for and got; returns its labels, or the base if there is one."""
    with closing(sqlite3.connect(folder / "monitor.db")) as connection:
        found = pd.read_sql(ROUNDS, connection, params=(name,), parse_dates=["start"])
    later = found[found.number >= FIRST_COUNTED]
    labels = float(later.labels.mean())
    half = ((later.high - later.low) / 2).groupby(later.metric).mean()
    true = truth[pd.MultiIndex.from_frame(found[["start", "metric"]])].to_numpy()
    held = int(((found.low <= true) & (true <= found.high)).sum())
    base = base or labels
    print(
        f"{judge:<22}{labels:7.0f}{labels / base:7.3f}{half['precision']:23.3f}"
        f"{half['recall']:8.3f}{held:7} of {len(found)}"
    )
    return base
