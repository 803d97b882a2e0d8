"""What of a trace is a prediction, and what is counted apart or refused."""

from datetime import timedelta
from typing import Any

import pytest

from monitor.domain.errors import SourceRefused
from monitor.domain.judge import Judge
from monitor.domain.model import BandEdges
from monitor.domain.ports import PlannedScan
from monitor.plugins.mlflow_traces.paths import split_item, value_at
from monitor.plugins.mlflow_traces.reading import TraceReader
from tests.plugins.mlflow_traces.trace_store import TraceStore, source_of, span, verdict
from tests.sources.prediction_files import TWO, WEEK

MONDAY = WEEK.start
FLAGGED = {"predicted": "outputs.flagged", "show": ["inputs.text"]}
TOXICITY: dict[str, Any] = {"span": "toxicity", "columns": FLAGGED, "threshold": None}


@pytest.fixture
def store(tmp_path):
    return TraceStore(tmp_path)


def scored(score, **more):
    return span(inputs={"text": "hello"}, outputs={"score": score}, **more)


def guard(flagged, number=1, **more):
    inputs, outputs = {"text": f"hello {number}"}, {"flagged": flagged}
    id_ = f"{number:016x}"
    return span("toxicity", inputs=inputs, outputs=outputs, parent="a" * 16, id_=id_, **more)


def ids_of(frame):
    return sorted(candidate.id for part in frame.strata for candidate in part.candidates)


def test_each_span_of_the_name_is_an_item(store):
    spans = [scored(0.1, id_="a" * 16), guard(True, 1), guard(False, 2)]
    store.add("tr-1", MONDAY, spans=spans)
    store.add("tr-2", MONDAY, spans=[scored(0.1)])
    source = source_of(store, **TOXICITY)

    frame = source.scan(WEEK, TWO, 5, "s")

    assert ids_of(frame) == ["tr-1/0000000000000001", "tr-1/0000000000000002"]
    assert (frame.rows, frame.flagged_size) == (2, 1)
    assert frame.omitted == {"without a span 'toxicity'": 1}
    assert source.show(ids_of(frame), WEEK) == {
        "tr-1/0000000000000001": {"inputs.text": "hello 1"},
        "tr-1/0000000000000002": {"inputs.text": "hello 2"},
    }
    assert source.count(WEEK) == 2


def test_a_failed_trace_counts_only_with_its_decision(store):
    store.add("tr-blocked", MONDAY, spans=[scored(0.9)], status="ERROR")
    store.add("tr-failed", MONDAY, spans=[scored(None)], status="ERROR")
    store.add("tr-running", MONDAY, status="IN_PROGRESS")
    store.add("tr-silent", MONDAY, spans=[scored(None)])

    frame = source_of(store).scan(WEEK, TWO, 5, "s")

    assert ids_of(frame) == ["tr-blocked"]
    assert frame.omitted == {"in error, without a decision": 1, "still running": 1}
    assert dict(frame.bad_rows) == {"score missing": 1}


def test_a_text_in_place_of_a_number_is_a_bad_row(store):
    store.add("tr-1", MONDAY, spans=[scored(0.9)])
    store.add("tr-2", MONDAY, spans=[scored("high")])

    frame = source_of(store).scan(WEEK, TWO, 5, "s")

    assert dict(frame.bad_rows) == {"score not a number": 1}


@pytest.mark.parametrize("size", [2, 3, 500])
def test_pages_neither_hide_nor_repeat_traces_of_one_time(store, monkeypatch, size):
    monkeypatch.setattr("monitor.plugins.mlflow_traces.reading.PAGE", size)
    times = [MONDAY + timedelta(milliseconds=ms) for ms in (0, 0, 0, 0, 0, 1, 1, 2, 3, 3, 3)]
    for index, time in enumerate(times):
        store.add(f"tr-{index:02}", time, tags={"score": "0.9"})
    source = source_of(store, columns={"score": "tags.score"})

    frame = source.scan(WEEK, TWO, 99, "s")

    assert ids_of(frame) == [f"tr-{index:02}" for index in range(len(times))]
    assert frame.bad_rows == {}


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [(["60", "60", "60"], [1, 1, 1]), (["60", "40", "1"], [2, 1]), (["500", "1"], [1, 1])],
)
def test_spans_are_read_in_parts_of_a_few_bytes(store, monkeypatch, sizes, parts):
    monkeypatch.setattr("monitor.plugins.mlflow_traces.reading.PAGE_BYTES", 100)
    for number, size in enumerate(sizes):
        size_of = {"mlflow.trace.sizeBytes": size}
        store.add(f"tr-{number}", MONDAY, spans=[scored(0.9)], metadata=size_of)

    pages = [*source_of(store).reader.pages(WEEK, spans=True)]

    assert [len(page) for page in pages] == parts
    assert all(trace.data.spans for page in pages for trace in page)


def test_a_trace_without_a_size_is_taken_for_a_large_one(store, monkeypatch):
    monkeypatch.setattr("monitor.plugins.mlflow_traces.reading.PAGE_WITH_SPANS", 2)
    for number in range(5):
        size = {"mlflow.trace.sizeBytes": "unknown"} if number else {}
        store.add(f"tr-{number}", MONDAY, spans=[scored(0.9)], metadata=size)

    pages = source_of(store).reader.pages(WEEK, spans=True)

    assert [len(page) for page in pages] == [2, 2, 1]


def test_a_trace_deleted_since_has_left_the_predictions(store):
    for name in ("tr-1", "tr-2"):
        store.add(name, MONDAY, spans=[scored(0.9)])
    source = source_of(store)
    store.delete("tr-1")

    assert source.show(["tr-1", "tr-2"], WEEK) == {"tr-2": {"inputs.text": "hello"}}


def test_whole_texts_are_shown_and_never_the_preview(store):
    text = "long " * 2000
    root = span(inputs={"text": text}, outputs={"score": 0.9})
    store.add("tr-1", MONDAY, spans=[root])

    assert source_of(store).show(["tr-1"], WEEK) == {"tr-1": {"inputs.text": text}}


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ([verdict("j", "no", at=2), verdict("j", "yes", at=1)], "no"),
        ([verdict("j", "no", at=2, valid=False), verdict("j", "yes", at=1)], "yes"),
        ([verdict("j", "no", at=2, source="HUMAN"), verdict("j", "yes", at=1)], "yes"),
        ([verdict("j", "no", at=1, source="CODE")], "no"),
        ([verdict("j", "no", source="HUMAN")], None),
    ],
)
def test_the_newest_valid_verdict_of_a_model_or_code_counts(store, given, value):
    store.add("tr-1", MONDAY, tags={"score": "0.9"}, assessments=given)
    store.add("tr-2", MONDAY, tags={"score": "0.9"}, assessments=[verdict("j", "other")])
    columns = {"score": "tags.score", "segments": ["assessments.j"]}

    frame = source_of(store, columns=columns).scan(WEEK, TWO, 5, "s")

    [flagged] = [part for part in frame.strata if part.stratum.flagged]
    assert set(flagged.segments[0]) == {"other", value or "(no value)"}


def test_a_verdict_on_the_span_counts_before_one_on_the_trace(store):
    given = [verdict("j", "trace", at=9), verdict("j", "span", at=1, span_id="0" * 15 + "1")]
    spans = [guard(True, 1), guard(True, 2)]
    store.add("tr-1", MONDAY, spans=spans, assessments=given)
    columns = {**FLAGGED, "segments": ["assessments.j"]}

    frame = source_of(store, **{**TOXICITY, "columns": columns}).scan(WEEK, TWO, 5, "s")

    [flagged] = [part for part in frame.strata if part.stratum.flagged]
    assert flagged.segments == ({"span": 1, "trace": 1},)


def test_a_verdict_on_the_root_span_is_one_on_the_trace(store):
    given = [verdict("j", "root", span_id="a" * 16), verdict("j", "inner", at=9, span_id="b" * 16)]
    spans = [scored(0.9, id_="a" * 16), guard(True, 1)]
    store.add("tr-1", MONDAY, spans=spans, assessments=given)
    by_score: dict[str, Any] = {"columns": {"score": "outputs.score"}}

    for settings in (by_score, TOXICITY):
        columns = {**settings["columns"], "segments": ["assessments.j"]}
        frame = source_of(store, **{**settings, "columns": columns}).scan(WEEK, TWO, 5, "s")
        [flagged] = [part for part in frame.strata if part.stratum.flagged]
        assert flagged.segments == ({"root": 1},)


def refusal(store, **changes):
    with pytest.raises(SourceRefused) as caught:
        source_of(store, **changes).scan(WEEK, TWO, 5, "s")
    return str(caught.value)


def test_a_span_that_no_trace_has_is_refused_with_those_that_exist(store):
    store.add("tr-1", MONDAY, spans=[guard(True)])

    text = refusal(store, **{**TOXICITY, "span": "toxicty"})

    assert "none of the 1 traces of the window has a span 'toxicty'" in text
    assert "did you mean toxicity?" in text


def test_a_path_that_no_item_has_is_refused_with_those_that_exist(store):
    store.add("tr-1", MONDAY, spans=[scored(0.9)])

    text = refusal(store, columns={"score": "outputs.scor"})

    assert "none of the 1 items of the window has outputs.scor (columns.score)" in text
    assert "did you mean outputs.score?" in text


def test_a_shown_path_that_no_drawn_item_has_is_refused(store):
    for number in range(5):
        store.add(f"tr-{number}", MONDAY, spans=[scored(0.9)])
    source = source_of(store, columns={"score": "outputs.score", "show": ["inputs.txt"]})
    ids = ids_of(source.scan(WEEK, TWO, 5, "s"))

    with pytest.raises(SourceRefused, match=r"has inputs\.txt .* mean inputs\.text"):
        source.show(ids, WEEK)


def test_an_experiment_that_does_not_exist_is_refused_with_those_that_do(store):
    text = refusal(store, experiment="suport-bot")

    assert "does not exist; correct source.experiment. There are" in text
    assert "did you mean support-bot?" in text


def test_a_judge_without_any_verdict_is_named_with_the_assessments_that_exist(store):
    given = [verdict("toxicity_judge", "yes"), verdict("checked", True, source="HUMAN")]
    store.add("tr-1", MONDAY, spans=[scored(0.9)], assessments=given)
    source = source_of(store)
    judge = Judge.model_validate({"assessment": "toxic_judge", "positive": "yes"})
    source.settings.judge_by(judge)

    fault = source.scan(WEEK, BandEdges(judged=True).strata(), 5, "s").judge_fault

    assert fault == (
        "none of the 1 items of the window has assessments.toxic_judge by a model or code (judge). "
        "There are assessments.toxicity_judge; did you mean assessments.toxicity_judge?"
    )


@pytest.mark.parametrize(
    ("judge", "problem"),
    [
        ({"assessment": "j", "column": "assessments.j"}, "assessment: it names what column names"),
        ({"assessment": 7}, r"assessment\n  Input should be a valid string"),
        ({"assessment": ""}, r"assessment\n  String should have at least 1 character"),
    ],
)
def test_a_judge_is_named_once_and_by_a_name(judge, problem):
    with pytest.raises(ValueError, match=problem):
        Judge.model_validate({**judge, "positive": "yes"})


def test_a_segment_that_no_item_has_is_counted(store):
    store.add("tr-1", MONDAY, spans=[scored(0.9)])
    columns = {"score": "outputs.score", "segments": ["tags.langage"]}

    frame = source_of(store, columns=columns).scan(WEEK, TWO, 5, "s")

    assert frame.omitted == {"without tags.langage (columns.segments)": 1}


def test_monitors_of_a_block_share_one_reading(store, monkeypatch):
    outputs = [{"insult": number % 2 == 0, "threat": number % 5 == 0} for number in range(20)]
    for number, each in enumerate(outputs):
        store.add(f"tr-{number:02}", MONDAY, spans=[span(outputs=each)])
    sources = [
        source_of(store, columns={"predicted": f"outputs.{name}"}, threshold=None)
        for name in ("insult", "threat")
    ]
    alone = [source.scan(WEEK, TWO, 9, "s") for source in sources]
    sources[0].read_for([PlannedScan(source, TWO, 9) for source in sources], WEEK, "s")
    monkeypatch.setattr(TraceReader, "pages", None)  # nothing is read again

    together = [source.scan(WEEK, TWO, 9, "s") for source in sources]

    assert together == alone
    assert [frame.flagged_size for frame in together] == [10, 4]


@pytest.mark.parametrize("name", ["group", "model_version", "score"])
def test_each_column_is_a_path(store, name):
    with pytest.raises(ValueError, match=r"'user' is not a path into a trace"):
        source_of(store, columns={"predicted": "outputs.x", name: "user"}, threshold=None)


def test_an_older_mlflow_is_refused(store, monkeypatch):
    monkeypatch.setattr("monitor.plugins.mlflow_traces.reading.version", lambda _: "3.4.0")

    assert "MLflow 3.5 or later, and 3.4.0 is installed; upgrade" in refusal(store)


@pytest.mark.parametrize(
    "item", ["tr-0b6e", "tr-0b6e/00f067aa0ba902b7", "trace:/main.bot/0b6e", "trace:/a.b/0b/00f0"]
)
def test_an_item_splits_into_its_trace_and_span(item):
    trace, span_id = split_item(item)

    assert item == (trace if span_id is None else f"{trace}/{span_id}")
    assert (span_id is None) is (not item.endswith("/00f067aa0ba902b7"))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("outputs.a.b", 1),
        ("outputs.x.y", 2),
        ("outputs.list.-1.score", 4),
        ("outputs.list.9.score", None),
        ("outputs.json.flag", True),
        ("outputs.text.flag", None),
        ("tags.a.b.c", "d"),
        ("outputs.a.b.c", None),
    ],
)
def test_a_path_leads_through_names_with_dots_lists_and_json(path, value):
    outputs = {
        "a": {"b": 1},
        "x.y": 2,
        "list": [{"score": 3}, {"score": 4}],
        "json": '{"flag": true}',
        "text": "{not json",
    }

    assert value_at({"outputs": outputs, "tags": {"a.b.c": "d"}}, path) == value
