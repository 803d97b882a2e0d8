"""The first config: what is guessed from columns, and what is asked for by flag."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.config.column_guess import Chosen
from monitor.config.load import load_config
from monitor.config.template import first_config
from monitor.domain.errors import InputRefused
from monitor.files.relations import DescribedFiles
from monitor.sources.table_settings import DuckdbSettings

MAIL = [
    ("mail_id", "VARCHAR"),
    ("scored_at", "TIMESTAMP"),
    ("score", "DOUBLE"),
    ("subject", "VARCHAR"),
    ("body", "VARCHAR"),
    ("model_name", "VARCHAR"),
    ("is_travel_label", "VARCHAR"),
]
CARDS = [
    ("id", "BIGINT"),
    ("customer_id", "BIGINT"),
    ("predicted_at", "TIMESTAMP WITH TIME ZONE"),
    ("settled_at", "TIMESTAMP WITH TIME ZONE"),
    ("amount", "DOUBLE"),
    ("prediction", "BOOLEAN"),
]


class Predictions(DescribedFiles):
    """Predictions with these columns; ``values`` are the first ones of some."""

    def __init__(self, types, values):
        self.types, self.values = types, values

    def columns(self):
        return dict(self.types)

    def class_values(self, column, at_most=20):
        values = sorted({str(value) for value in self.values.get(column, ())})
        return tuple(values) if len(values) <= at_most else ()

    def first_values(self, types, **_):
        return {name: self.values.get(name, ()) for name in types}


def config_text(columns, chosen=None, predictions="p.csv", **values):
    command = ["pr-monitor", "init", predictions]
    return first_config(predictions, Predictions(columns, values), chosen or Chosen(), command)


@pytest.fixture
def written(tmp_path):
    """Write the config, read it back, and return its first monitor."""

    def monitor(columns, chosen=None, predictions="predictions/*.parquet", **values):
        path = tmp_path / "config.yaml"
        text = config_text(columns, chosen, predictions, **values).text
        path.write_text(text, encoding="utf-8")
        return load_config(path, {}).monitors[0]

    return monitor


def test_a_score_is_found_and_cut_at_one_half_and_people_see_texts_that_nobody_said(written):
    monitor = written(MAIL)

    columns = monitor.source.columns
    assert (columns.id, columns.time, columns.score) == ("mail_id", "scored_at", "score")
    assert (columns.predicted, monitor.source.threshold) == (None, 0.5)
    assert columns.show == ("subject", "body")
    assert monitor.source.time_zone == "UTC", "times name none"
    assert (monitor.name, monitor.source.path) == ("predictions", "predictions/*.parquet")


def test_a_predicted_class_is_found_and_a_well_known_name_goes_before_one_like_it(written):
    source = written(CARDS).source

    columns = source.columns
    assert (columns.id, columns.time) == ("id", "predicted_at")
    assert (columns.predicted, columns.score) == ("prediction", None)
    assert source.time_zone is None, "times name their own"


def test_a_threshold_says_that_the_score_decides(written):
    columns = [*CARDS, ("fraud_score", "FLOAT")]

    source = written(columns, Chosen(threshold=0.9)).source

    assert (source.columns.score, source.threshold) == ("fraud_score", 0.9)
    assert source.columns.predicted is None


@pytest.mark.parametrize("score", ["fraud_score", "p"])
def test_a_text_with_the_name_of_a_decision_beside_a_score_is_asked_for(score):
    columns = [*CALLS[:2], (score, "DOUBLE"), ("decision", "VARCHAR")]
    values = {score: CALL_VALUES["p_callback"], "decision": ["deny", *["allow"] * (ROWS - 1)]}

    with pytest.raises(InputRefused) as caught:
        config_text(columns, **(CALL_VALUES | values))

    assert f"'decision' holds 'allow', 'deny', and {score!r} holds scores" in str(caught.value)
    answer = f"--id txn --time at --score {score} --predicted decision --positive deny"
    assert answer in str(caught.value)


@pytest.mark.parametrize("chosen", [Chosen(predicted="blocked"), Chosen(threshold=0.7)])
def test_a_decision_is_not_asked_for_where_another_rule_is_named(written, chosen):
    columns = [*CALLS, ("decision", "VARCHAR"), ("blocked", "BOOLEAN")]
    values = {"decision": ["deny", *["allow"] * (ROWS - 1)], "blocked": [True, False] * (ROWS // 2)}

    source = written(columns, chosen, **CALL_VALUES, **values).source

    assert (source.columns.predicted, source.threshold) == (chosen.predicted, chosen.threshold)


def test_the_only_scores_beside_a_predicted_class_cut_it_into_strata(written):
    columns = [*CALLS, ("flagged", "BOOLEAN")]

    source = written(columns, **CALL_VALUES, flagged=[True, False] * (ROWS // 2)).source

    assert (source.columns.predicted, source.columns.score) == ("flagged", "p_callback")
    assert source.threshold is None


def test_a_column_of_labels_needs_no_people_and_shows_them_nothing(written):
    monitor = written(MAIL, Chosen(label="is_travel_label"))

    assert (monitor.labeling.kind, monitor.labeling.value) == ("column", "is_travel_label")
    assert monitor.source.columns.show == ()
    assert monitor.settings().round.deadline == monitor.labeling.matures


def test_a_predicted_text_needs_the_value_that_means_positive(written):
    columns = [*CARDS[:5], ("decision", "VARCHAR")]

    with pytest.raises(InputRefused, match=r"which value of 'decision' means positive"):
        config_text(columns, Chosen(predicted="decision"))

    assert written(columns, Chosen(positive="fraud")).source.positive == "fraud"


@pytest.mark.parametrize(
    ("columns", "chosen", "sentence"),
    [
        (MAIL[1:], Chosen(), "cannot tell which column is the id (--id)"),
        ([MAIL[0], MAIL[2]], Chosen(), "which column is the time of the prediction (--time)"),
        (MAIL[:2], Chosen(), "which rows are flagged (--score with --threshold, or --predicted)"),
        (CARDS[1:], Chosen(time="when"), "there is no column 'when' (--time)"),
        ([("a_id", "UUID"), ("b_id", "UUID"), *MAIL[1:]], Chosen(), "is the id (--id)"),
        ([*MAIL, ("sent", "DATE"), ("seen", "DATE")][2:], Chosen(id="body"), "(--time)"),
        (MAIL, Chosen(predicted="score", threshold=0.5), "both say which rows are flagged"),
        (CARDS, Chosen(threshold=0.5), "--threshold needs a column of scores (--score)"),
        (MAIL, Chosen(positive="1"), "--positive needs --predicted"),
        (MAIL, Chosen(threshold=float("nan")), "--threshold nan is not a finite number"),
    ],
)
def test_what_cannot_be_told_is_refused_with_the_flag_and_the_columns(columns, chosen, sentence):
    with pytest.raises(InputRefused) as caught:
        config_text(columns, chosen)

    assert sentence in str(caught.value)
    assert str(caught.value).endswith(f"{columns[-1][0]} ({columns[-1][1]})")


ROWS = 40
CALLS = [("txn", "VARCHAR"), ("at", "TIMESTAMP"), ("p_callback", "DOUBLE"), ("amount", "DOUBLE")]
CALL_VALUES: dict[str, list[object]] = {
    "txn": [f"x{i}" for i in range(ROWS)],
    "p_callback": [i / ROWS for i in range(ROWS)],
    "amount": [3.5 * i for i in range(ROWS)],
}


def test_ids_and_scores_of_unknown_names_are_taken_by_their_values_and_named(written):
    columns = [*CALLS, ("customer_id", "BIGINT")]  # a name like an id, and values that repeat
    values = CALL_VALUES | {"customer_id": [i % 3 for i in range(ROWS)]}

    source = written(columns, **values).source

    assert (source.columns.id, source.columns.score) == ("txn", "p_callback")
    assert config_text(columns, **values).guesses == [
        "took 'txn' as the id, the only column whose values are all different (40 rows read)",
        "took 'p_callback' as the score, the only column of numbers from 0 to 1",
        "took 0.5 as the threshold: items are flagged from it on",
        "took UTC as the time zone, since times name none",
    ]


def test_few_rows_tell_no_id_by_their_values():
    values = {name: of[:19] for name, of in CALL_VALUES.items()}

    with pytest.raises(InputRefused, match=r"which column is the id \(--id\)\n"):
        config_text(CALLS, **values)


@pytest.mark.parametrize(
    ("columns", "values", "answer"),
    [
        (  # two candidates each: the first
            [*CALLS[2:], ("other", "BIGINT"), ("p_sale", "DOUBLE")],
            {"other": range(ROWS), "p_sale": CALL_VALUES["p_callback"]},
            "--id txn --time at --score p_callback --threshold 0.5",
        ),
        (  # none for the id
            CALLS[2:],
            {"txn": ["a"] * ROWS},
            "--id COLUMN --time at --score p_callback --threshold 0.5",
        ),
        *(
            ([(name, kind)], {name: values}, f"--id txn --time at {answer}")
            for name, kind, values, answer in (
                ("verdict", "VARCHAR", "y" + "n" * (ROWS - 1), "--predicted verdict --positive y"),
                ("predicted", "BIGINT", [i % 3 for i in range(ROWS)], "--classes predicted"),
                ("score", "DOUBLE", range(0, 80, 2), "--score score --threshold 50"),
                ("score", "DOUBLE", range(-ROWS, 0), "--score score --threshold 0"),
                ("score", "DOUBLE", [None] * ROWS, "--score COLUMN --threshold 0.5"),
            )
        ),
    ],
)
def test_a_question_comes_with_one_command_that_answers_it(columns, values, answer):
    with pytest.raises(InputRefused) as caught:
        config_text([*CALLS[:2], *columns], **(CALL_VALUES | values))

    assert f"\n  pr-monitor init p.csv {answer}\nThe columns are" in str(caught.value)


DAYS = [f"{day}.03.2026 06:00" for day in range(1, 31)]
COMMAS = [f"0,{i}" for i in range(ROWS)]
LOCAL = ").project('''* replace (strptime({0}, '%d.%m.%Y %H:%M') as {0})''')"
SCORE, META = ("score", "VARCHAR"), ("meta", "STRUCT(at TIMESTAMP, score DOUBLE)")


@pytest.mark.parametrize(
    ("columns", "values", "made"),
    [
        ([CALLS[1], SCORE], {"score": COMMAS}, ", decimal=',')"),
        ([CALLS[1], SCORE], {"score": ["7e-05", "1", *COMMAS[2:]]}, ", decimal=',')"),
        ([CALLS[2]], {}, ").project('*, now() as scored_at')"),
        ([("ts", "VARCHAR"), CALLS[2]], {"ts": DAYS}, LOCAL.format("ts")),
        ([("received", "VARCHAR"), CALLS[2]], {"received": DAYS}, LOCAL.format("received")),
        (
            [("ts", "BIGINT"), CALLS[2]],
            {"ts": [1_780_000_000_000 + i for i in range(ROWS)]},
            ").project('* replace (to_timestamp(ts / 1000) as ts)')",
        ),
        ([META], {}, ").project('* exclude (meta), unnest(meta)')"),
    ],
)
def test_a_file_that_cannot_be_read_comes_with_the_command_that_converts_it(columns, values, made):
    with pytest.raises(InputRefused) as caught:
        config_text([CALLS[0], *columns], **(CALL_VALUES | values))

    read = f"duckdb.read_csv('p.csv'{made}.write_parquet('converted.parquet')"
    python = f'python -c "import duckdb; {read}"'
    assert f"\n  {python}\n  pr-monitor init converted.parquet\n" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "kind", "values"),
    [
        ("sent at", "VARCHAR", DAYS),
        ("sent at", "BIGINT", [1_780_000_000 + i for i in range(ROWS)]),
        ("meta$(touch x)", "STRUCT(at TIMESTAMP)", []),
    ],
)
def test_no_name_with_a_blank_or_a_sign_of_the_shell_gets_into_a_command(name, kind, values):
    columns = [CALLS[0], (name, kind), CALLS[2]]

    with pytest.raises(InputRefused) as caught:
        config_text(columns, **(CALL_VALUES | {name: values}))

    assert "python" not in str(caught.value)


def test_each_of_several_classes_gets_a_monitor(written, tmp_path):
    columns = [*CALLS[:2], ("kind", "VARCHAR")]
    values = CALL_VALUES | {"kind": ["real estate", "travel", "no", "no"] * 10}

    written(columns, Chosen(classes="kind"), **values)

    monitors = load_config(tmp_path / "config.yaml", {}).monitors
    assert [(one.name, getattr(one.source, "positive", None)) for one in monitors] == [
        ("predictions-no", "no"),
        ("predictions-real-estate", "real estate"),
        ("predictions-travel", "travel"),
    ]


@pytest.mark.parametrize(
    ("predictions", "name"),
    [
        ("mail-travel.parquet", "mail-travel"),
        ("data/mail/*.parquet", "mail"),
        ("data/mail travel/2026-*/*.csv.gz", "mail-travel"),
        ("*.csv", "predictions"),
        ("../**/*.csv", "predictions"),
        ("2026.csv", "predictions"),
        ("true.csv", "predictions"),
    ],
)
def test_the_monitor_is_named_for_the_file_or_its_folder(written, predictions, name):
    assert written(MAIL, predictions=predictions).name == name


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@settings(max_examples=25)
@given(NAMES, NAMES, NAMES, NAMES)
def test_any_names_come_back_as_they_are(tmp_path_factory, key, time, score, text):
    names = [f"{name}{place}" for place, name in enumerate((key, time, score, text))]
    columns = list(zip(names, ["VARCHAR", "TIMESTAMP", "DOUBLE", "VARCHAR"], strict=True))
    path = tmp_path_factory.mktemp("config", numbered=True) / "config.yaml"

    path.write_text(
        config_text(columns, Chosen(id=names[0], score=names[2]), f"{names[3]}.csv").text,
        encoding="utf-8",
        newline="",
    )

    source = load_config(path, {}).monitors[0].source
    assert isinstance(source, DuckdbSettings)
    found = source.columns
    assert [found.id, found.time, found.score] == names[:3]
    assert source.path == f"{names[3]}.csv"


def dated(known_after, rows=200):
    """Rows of two a day, with the time at which their label became known, if it is by the end."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [start + timedelta(hours=12 * row) for row in range(rows)]
    known = [at + timedelta(days=known_after(row)) for row, at in enumerate(times)]
    return {
        "predicted_at": times,
        "settled_at": [at if at <= times[-1] else None for at in known],
    }


def labeling_of(values, types=CARDS):
    label = [("is_fraud", "BOOLEAN")]
    predictions = Predictions([*types, *label], values)
    return first_config("p.csv", predictions, CARD, ["pr-monitor"]).text


CARD = Chosen(id="id", label="is_fraud")


def test_matures_is_proposed_from_the_times_of_labels_with_those_of_young_rows_still_to_come():
    text = labeling_of(dated(lambda row: 1 + row * 7919 % 40))

    assert "time: settled_at" in text
    [days] = re.findall(r"matures: (\d+)d .* by then 95 % of", text)
    assert 36 <= int(days) <= 40


def test_too_few_times_of_labels_and_two_columns_of_them_propose_nothing():
    values = dated(lambda _: 1)
    two = {**values, "reported_at": values["settled_at"]}

    texts = [
        labeling_of({}),
        labeling_of(dated(lambda _: 1, 15)),
        labeling_of(two, [*CARDS, ("reported_at", "TIMESTAMP")]),
    ]

    guess = "matures: 60d                       # a guess: when is the truth known"
    assert [guess in text for text in texts] == [True] * 3
