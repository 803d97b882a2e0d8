"""Traces keep the contract of sources, without spans and with them."""

from collections.abc import Collection
from dataclasses import replace

from monitor.domain.judge import Judge
from monitor.domain.model import BadRow
from monitor.testing import JudgeContract, SourceContract
from tests.plugins.mlflow_traces.trace_store import COLUMNS, TraceStore, source_of, span, verdict
from tests.sources.prediction_files import InFolder

IMPOSSIBLE: Collection[BadRow] = {BadRow.NO_ID, BadRow.NO_TIME, BadRow.DUPLICATE}
BY_COUNTRY = {**COLUMNS, "segments": ["tags.country"]}


class OnStore(InFolder):
    impossible = IMPOSSIBLE
    score = "outputs.score"

    def source(self, rows, **changes):
        self.folder.joinpath("mlflow.db").unlink(missing_ok=True)
        store = TraceStore(self.folder)
        store.add_all(self.trace(row) for row in rows if row["id"] is not None)
        return _Renamed(source_of(store, columns={**BY_COUNTRY, "score": self.score}, **changes))

    def trace(self, row):
        return (
            row["id"],
            row["time"],
            [self.root(row)],
            self.tags(row),
            {},
            self.verdicts(row),
            "OK",
        )

    def root(self, row):
        return span(inputs={"text": row["text"]}, outputs={"score": row["score"]})

    def tags(self, row):
        return {"country": row["country"]}

    def verdicts(self, row):
        answer = row.get("verdict")
        return [] if answer is None else [verdict("toxic", "yes" if answer else "no")]


class _Renamed:
    """A source whose paths have the names of the contract's columns."""

    def __init__(self, source):
        self.source = source
        self.count, self.span = source.count, source.span
        self.prediction_times = source.prediction_times

    def scan(self, *arguments):
        frame = self.source.scan(*arguments)
        assert frame.segment_columns == ("tags.country",)
        return replace(frame, segment_columns=("country",))

    def show(self, ids, window):
        shown = self.source.show(ids, window)
        return {key: {"text": texts["inputs.text"]} for key, texts in shown.items()}


class TestTraces(OnStore, SourceContract):
    """A score in the root span."""


class TestTagsOnly(OnStore, SourceContract):
    """A score in a tag, so that a window is read without spans."""

    score = "tags.score"

    def tags(self, row):
        score = {} if row["score"] is None else {"score": repr(row["score"])}
        return {**super().tags(row), **score}


class TestJudge(OnStore, JudgeContract):
    """Verdicts are assessments by a model."""

    def judged_source(self, rows):
        source = self.source(rows).source
        source.settings.judge_by(Judge(column="assessments.toxic", positive="yes"))
        return source
