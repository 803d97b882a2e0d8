"""A round's read of MLflow's traces beside the bare loop of `search_traces` over the same pages.

Fills a server on SQLite by SQL: a trace has two tags, a verdict and a span of about 1.5 kB. The
decision is in a tag, so that no span is read, or in the span. ``memory`` is the most that the
process held, with MLflow's library in it.
"""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from monitor.domain.model import BandEdges, Window
from tests.mlflow_server import MlflowServer
from tests.plugins.mlflow_traces.trace_store import NAME, TraceStore, source_of, span, verdict

START, LENGTH = datetime(2026, 3, 2, tzinfo=UTC), timedelta(days=7)
WINDOW = Window(START, START + LENGTH)
COLUMNS = {False: {"score": "tags.score"}, True: {"score": "outputs.score"}}
AT_ONCE = 5_000
TEXT = "word " * 250


def traces_of(count: int) -> Iterator[Any]:
    """Make traces for `TraceStore.add_all`, evenly over the window."""
    for number in range(count):
        score = number * 0.6180339887498949 % 1
        root = span(inputs={"text": TEXT}, outputs={"score": score})
        tags = {"score": repr(score), "language": ("cs", "en")[number % 2]}
        answers = [verdict("judge", "yes" if score > 0.5 else "no")]
        yield (
            f"tr-{number:032x}",
            START + number * (LENGTH / count),
            [root],
            tags,
            {"mlflow.trace.sizeBytes": "1500"},
            answers,
            "OK",
        )


def bare(uri: str, spans: bool) -> int:
    """Read every trace as MLflow's documentation shows, and keep none."""
    from mlflow import MlflowClient  # noqa: PLC0415  measured with it

    client = MlflowClient(uri)
    experiment: Any = client.get_experiment_by_name(NAME)
    ends = [int(at.timestamp() * 1000) for at in (WINDOW.start, WINDOW.end)]
    token, count = None, 0
    while True:
        page = client.search_traces(
            locations=[experiment.experiment_id],
            filter_string=f"timestamp_ms >= {ends[0]} and timestamp_ms < {ends[1]}",
            order_by=["timestamp_ms ASC"],
            max_results=500,
            page_token=token,
            include_spans=spans,
        )
        count += len(page)
        if not (token := page.token):
            return count


class _At:
    def __init__(self, uri: str) -> None:
        self.uri = uri


def round_read(uri: str, spans: bool) -> int:
    """Scan the window as a round does."""
    columns = {**COLUMNS[spans], "segments": ["tags.language"]}
    source = source_of(_At(uri), columns=columns, timeout="1d")
    return source.scan(WINDOW, BandEdges().strata(), 2_000, "seed").rows


def measured(read: str, uri: str, spans: bool) -> tuple[float, float, int]:
    """Read once in a process of its own; returns seconds, MB and traces."""
    code = f"""
import json, time
from benchmarks import harness, traces
began = time.perf_counter()
count = traces.{read}({uri!r}, {spans})
print(json.dumps([time.perf_counter() - began, harness.peak_mb(), count]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, memory, count = json.loads(done.stdout.splitlines()[-1])
    return seconds, memory, count


def main(counts: tuple[int, ...] = (20_000, 100_000), spans: tuple[int, ...] = (2_000,)) -> None:
    """Print seconds and memory of both reads, and their ratio.

    counts: Traces that are read without spans.
    spans: Traces that are read with their spans.
    """
    print(
        f"{'traces':>9} {'spans':>6} {'bare s':>8} {'round s':>8} {'ratio':>6} {'a second':>9} "
        f"{'bare MB':>8} {'round MB':>9}"
    )
    for count, with_spans in [*((n, False) for n in counts), *((n, True) for n in spans)]:
        with TemporaryDirectory() as folder:
            store = TraceStore(Path(folder))
            store.add_all(traces_of(count))
            with sqlite3.connect(store.path) as connection:
                connection.execute("analyze")
            with MlflowServer(Path(folder)) as server:  # type: ignore[no-untyped-call]
                time.sleep(1)
                alone, alone_mb, found = measured("bare", server.url, with_spans)
                seconds, memory, rows = measured("round_read", server.url, with_spans)
        if not found == rows == count:
            sys.exit(f"{count} traces, and {found} and {rows} were read")
        print(
            f"{count:>9,} {'yes' if with_spans else 'no':>6} {alone:>8.1f} {seconds:>8.1f} "
            f"{seconds / alone:>6.2f} {count / seconds:>9,.0f} {alone_mb:>8.0f} {memory:>9.0f}"
        )
