"""Which traces of MLflow are predictions, as the config says it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from monitor.domain.errors import SettingRefused
from monitor.domain.judge import Judge
from monitor.domain.settings import Labeling
from monitor.plugins.mlflow_traces.paths import SPAN_ROOTS, problem_of
from monitor.sources.table_settings import Columns, TableSettings


class TraceColumns(Columns):
    """Paths into a trace, by what they hold.

    A path leads into ``inputs``, ``outputs`` or ``attributes`` of the span, or into ``tags``,
    ``metadata`` or ``assessments`` (by their names) of the trace: ``outputs.flagged``,
    ``inputs.messages.0.content``, ``tags.language``. ``id`` and ``time`` come from the
    trace.
    """

    id: Literal["trace_id"] = "trace_id"
    time: Literal["timestamp"] = "timestamp"


class TracesSettings(TableSettings):
    """Which traces are predictions, and where in them the decision is.

    ``experiment`` is the name of an MLflow experiment at ``mlflow.tracking_uri``. With ``span``,
    each span of that name is an item; without it, each trace, by its root span. Values are read
    from the paths in ``columns``. An assessment is read if a model or code gave it, the newest
    valid one of a name; what people say is a label.

    Answers of the labeling page are stored on the traces as feedback. ``answers`` is its name, the
    monitor's if not given; with ``false`` nothing is stored.
    """

    undecided: ClassVar[frozenset[str]] = TableSettings.undecided | {"answers"}

    kind: Literal["mlflow_traces"] = "mlflow_traces"
    experiment: Annotated[str, Field(min_length=1)]
    span: Annotated[str, Field(min_length=1)] | None = None
    columns: TraceColumns
    answers: Annotated[str, Field(min_length=1, max_length=250)] | Literal[False] | None = None

    @model_validator(mode="after")
    def _paths_are_paths(self) -> TracesSettings:
        for setting, path in self.named_paths():
            if why := problem_of(path):
                raise SettingRefused(setting=setting, why=why)
        return self

    def named_paths(self) -> list[tuple[str, str]]:
        """Return every path but the judge's, each with the setting that names it."""
        columns, challenger = self.columns, self.challenger
        single = {
            f"columns.{name}": value
            for name, value in columns
            if name not in {"id", "time", "show", "segments"}
        }
        single["challenger"] = None if challenger is None else challenger.column
        if isinstance(self.released_with, str):
            single["released_with"] = self.released_with
        return [
            *((setting, path) for setting, path in single.items() if path is not None),
            *(("columns.segments", path) for path in columns.segments),
            *(("where", path) for path in self.where),
            *(("columns.show", path) for path in sorted(columns.shown)),
        ]

    @property
    def decision_paths(self) -> dict[str, str]:
        """What a window is read for, without what people are shown: each path with its setting."""
        paths = {path: setting for setting, path in self.named_paths() if setting != "columns.show"}
        if self.judged_by is not None:
            paths.setdefault(self.judged_by.column, "judge")
        return paths

    @property
    def reads_spans(self) -> bool:
        """Whether a window cannot be read without the spans of its traces."""
        roots = {path.partition(".")[0] for path in self.decision_paths}
        return self.span is not None or not roots.isdisjoint(SPAN_ROOTS)

    def why_no_judge(self, judge: Judge) -> str | None:
        """Describe why verdicts cannot be read from a path; None if they can."""
        return problem_of(judge.column) or super().why_no_judge(judge)

    @property
    def caveat(self) -> str:
        """Ways in which a decision leaves no trace."""
        return (
            "MLflow may lack traces of some decisions: its client drops traces while its queue of "
            "1,000 is full, and keeps a random share where MLFLOW_TRACE_SAMPLING_RATIO is set. "
            "Estimates are about the recorded ones, so compare their number with the "
            "application's own, raise MLFLOW_ASYNC_TRACE_LOGGING_MAX_QUEUE_SIZE, and leave the "
            "ratio at 1"
        )

    @property
    def has_truths(self) -> bool:
        """Whether labels by column can be read where the predictions are."""
        return False

    @property
    def table_setting(self) -> str:
        """Which setting names the table."""
        return "experiment"


class FeedbackLabels(Labeling):
    """Labels that people give as feedback on the traces of the source.

    ``name`` is the name of the feedback. Its values are true or false, yes or no, 1 or 0, or
    "cannot tell"; of each person the newest valid one counts. For a source with ``span`` only
    feedback on the span counts. An item without feedback counts as missing.
    """

    kind: Literal["mlflow_feedback"] = "mlflow_feedback"
    name: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _asks_no_second_person(self) -> FeedbackLabels:
        if self.overlap > 0:
            why = "nobody is asked, so no second person can be; remove it"
            raise SettingRefused(setting="overlap", why=why)
        return self
