"""Rounds over a guardrail's traces beside the truth of the generated traffic.

Messages and classifier are those of examples/guardrail.py, before anyone gets past it. MLflow's
store on SQLite gets a week of their traces a round, and people answer the drawn ones by the truth.
"""

# mypy: allow-untyped-calls
# (what the tests have for a monitor and its clock is not typed)

import runpy
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from monitor.domain.model import Answer
from monitor.domain.sample_settings import Sample
from monitor.storage import schema
from monitor.storage.database import Database
from tests.plugins.mlflow_traces.trace_store import TraceStore, source_of, span
from tests.rounds.scene import MONDAY, WEEK, Scene, settings

EXAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "examples/guardrail.py"))
METRICS = ("precision", "recall")


def record(store: TraceStore, scene: Scene, number: int, messages: Sequence[Any]) -> list[float]:
    """Record the week of a round; returns its true precision and recall."""
    start = MONDAY + (number - 2) * WEEK
    scores = [EXAMPLE["score"](message.text) for message in messages]
    rows: list[Any] = []
    for index, (message, score) in enumerate(zip(messages, scores, strict=True)):
        guard = message.id[16:]
        spans = [
            span("chat", id_=message.id[:16]),
            span("toxicity", id_=guard, parent=message.id[:16], outputs={"score": score}),
        ]
        spans[1]["inputs"] = {"text": message.text}
        time = start + index * (WEEK / len(messages))
        rows.append((f"tr-{message.id}", time, spans, {}, {}, (), "OK"))
        scene.truth[f"tr-{message.id}/{guard}"] = (
            Answer.POSITIVE if message.is_toxic else Answer.NEGATIVE
        )
    store.add_all(rows)
    flagged = [m.is_toxic for m, s in zip(messages, scores, strict=True) if s >= 0.5]
    toxic = sum(message.is_toxic for message in messages)
    return [sum(flagged) / len(flagged), sum(flagged) / toxic]


def main(rounds: int = 20, traces: int = 1_000, labels: int = 150) -> None:
    """Print both metrics of each round, and how many intervals hold the truth.

    rounds: Weeks that are played.
    traces: Traces a week.
    labels: Labels a round.
    """
    held = dict.fromkeys(METRICS, 0)
    columns = {"score": "outputs.score", "show": ["inputs.text"]}
    print(f"round  {'true':>5} precision               {'true':>5} recall")
    with TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/monitor.db")
        schema.ready(database)
        store = TraceStore(Path(folder))
        source = source_of(store, span="toxicity", columns=columns)
        scene = Scene(database, settings(sample=Sample(max_labels=labels)), source)
        for number in range(1, rounds + 1):
            messages = [*islice(EXAMPLE["messages"](seed=number), traces)]
            truths = record(store, scene, number, messages)
            scene.run(number)
            scene.finish(number)
            estimates = scene.estimates(number)
            line = f"{number:>5}"
            for name, true in zip(METRICS, truths, strict=True):
                interval = estimates[name, "round", "window"]
                holds = interval.low - 1e-9 <= true <= interval.high + 1e-9
                held[name] += holds
                ends = f"{interval.point:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
                line += f"  {true:.3f} {ends}{' ' if holds else '*'}"
            print(line)
        database.close()
    print(f"hold   {held['precision']} of {rounds}{'':24}{held['recall']} of {rounds}")
