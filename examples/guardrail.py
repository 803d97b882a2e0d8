"""A support bot with a guardrail, played into MLflow: traces, a judge's verdicts, and the truth.

    python examples/guardrail.py --tracking-uri http://127.0.0.1:5000

A small classifier flags toxic messages in a span ``toxicity`` of each trace. A rule that reads
more words stands for an LLM judge; its verdicts are assessments of the traces. The truth,
which people would find by reading, goes to ``truth.csv``. In week 9 people begin to write toxic
words with digits, which the classifier does not know. Nothing leaves this machine.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import random
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import mlflow
from mlflow.entities import AssessmentSource

EXPERIMENT = "support-bot"
START, WEEKS, PER_WEEK = datetime(2026, 1, 5, tzinfo=UTC), 12, 250
TRICK = 8  # Weeks without digits in toxic words
TOXIC_SHARE, RUDE_SHARE, HIDDEN_SHARE = 0.1, 0.06, 0.8
BATCH = 100  # Traces in one request

TOXIC = ("idiot", "moron", "stupid", "pathetic", "loser", "scum")
RUDE = ("stupid", "pathetic", "useless")  # Said of things, too
TOPICS = ("refund", "parcel", "password", "invoice", "delivery", "account", "app", "router")
WEIGHTS = {"idiot": 4.0, "moron": 4.0, "loser": 3.0, "stupid": 2.4, "scum": 3.5, "pathetic": 2.2}
BIAS, THRESHOLD = -2.3, 0.5
DIGITS = str.maketrans("ioea", "1034")
LETTERS = str.maketrans("1034", "ioea")


class Message(NamedTuple):
    """One message of a user, and whether it really is toxic."""

    id: str
    at: datetime
    text: str
    is_toxic: bool


def score(text: str) -> float:
    """Return how toxic the guardrail's classifier thinks a text is, from 0 to 1."""
    total = BIAS + sum(WEIGHTS.get(word, 0) for word in text.lower().split())
    return 1 / (1 + math.exp(-total))


def judged(text: str) -> str:
    """Judge as an LLM might: it reads digits as letters, and knows that a thing can be stupid."""
    words = text.lower().translate(LETTERS).split()
    is_of_person = "you" in words and any(word in TOXIC for word in words)
    return "yes" if is_of_person else "no"


def messages(seed: int = 7) -> Iterator[Message]:
    """Write the messages of all weeks, always the same for a seed."""
    rng = random.Random(seed)  # noqa: S311  no secret
    for number in range(WEEKS * PER_WEEK):
        week, place = divmod(number, PER_WEEK)
        at = START + timedelta(weeks=week, seconds=place * 604_800 / PER_WEEK)
        is_toxic = rng.random() < TOXIC_SHARE
        text = f"my {rng.choice(TOPICS)} does not work since {rng.randint(2, 30)} days"
        if is_toxic:
            word = rng.choice(TOXIC)
            hidden = week >= TRICK and rng.random() < HIDDEN_SHARE
            text += f" you {word.translate(DIGITS) if hidden else word}"
        elif rng.random() < RUDE_SHARE:
            text += f" what a {rng.choice(RUDE)} {rng.choice(TOPICS)}"
        digest = hashlib.md5(f"{seed}|{number}".encode(), usedforsecurity=False)
        yield Message(digest.hexdigest(), at, text, is_toxic)


def spans(message: Message) -> list[dict[str, Any]]:
    """Return a trace as OpenTelemetry writes it: the chat, and the guardrail inside it."""
    value = round(score(message.text), 3)
    outputs = {"flagged": value >= THRESHOLD, "score": value}
    answer = "I cannot help with that." if outputs["flagged"] else "Let me look into that."
    root, guard = message.id[:16], message.id[16:]
    return [
        _span(message, root, "", "chat", {"question": message.text}, {"answer": answer}),
        _span(message, guard, root, "toxicity", {"text": message.text}, outputs),
    ]


def _span(
    message: Message, id_: str, parent: str, name: str, inputs: Any, outputs: Any
) -> dict[str, Any]:
    start = str(int(message.at.timestamp() * 1_000_000) * 1000)
    texts = {
        "mlflow.spanType": json.dumps("GUARDRAIL" if parent else "CHAIN"),
        "mlflow.spanInputs": json.dumps(inputs),
        "mlflow.spanOutputs": json.dumps(outputs),
    }
    attributes = [{"key": name, "value": {"stringValue": text}} for name, text in texts.items()]
    span = {"traceId": message.id, "spanId": id_, "parentSpanId": parent, "name": name}
    times = {"startTimeUnixNano": start, "endTimeUnixNano": start}
    return {**span, **times, "status": {"code": 1}, "attributes": attributes}


def post(uri: str, experiment_id: str, batch: list[Message]) -> None:
    """Send some traces in one request; sending them again makes no second ones."""
    scope = {"spans": [span for message in batch for span in spans(message)]}
    body = {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}
    headers = {"content-type": "application/json", "x-mlflow-experiment-id": experiment_id}
    address = f"{uri.rstrip('/')}/v1/traces"
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=120):  # noqa: S310  what the user named
        pass


def judge(message: Message) -> None:
    """Store the judge's verdict as an assessment of the trace."""
    mlflow.log_feedback(
        trace_id=f"tr-{message.id}",
        name="toxicity_judge",
        value=judged(message.text),
        source=AssessmentSource(source_type="LLM_JUDGE", source_id="rule-1"),
    )


def main() -> None:
    """Write traces, verdicts and the truth."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tracking-uri", default="http://127.0.0.1:5000")
    uri = parser.parse_args().tracking_uri
    mlflow.set_tracking_uri(uri)
    experiment = mlflow.set_experiment(EXPERIMENT)
    everything = [*messages()]
    for start in range(0, len(everything), BATCH):
        post(uri, experiment.experiment_id, everything[start : start + BATCH])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(judge, everything))
    with Path("truth.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["item", "toxic"])
        rows = ((f"tr-{each.id}/{each.id[16:]}", int(each.is_toxic)) for each in everything)
        writer.writerows(rows)
    print(f"{len(everything):,} traces in experiment {EXPERIMENT!r} of {uri}; truth in truth.csv")


if __name__ == "__main__":
    main()
