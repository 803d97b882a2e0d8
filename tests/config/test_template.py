"""The first config: what is guessed from columns, and what is asked for by flag."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.config.load import load_config
from monitor.config.template import Chosen, write_config
from monitor.domain.errors import InputRefused
from monitor.sources.duckdb_settings import DuckdbSettings

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


@pytest.fixture
def written(tmp_path):
    """Write the config, read it back, and return its one monitor."""

    def monitor(columns, chosen=None, predictions="predictions/*.parquet"):
        path = tmp_path / "config.yaml"
        path.write_text(write_config(predictions, columns, chosen), encoding="utf-8")
        return load_config(path, {}).monitors[0]

    return monitor


def test_a_score_is_found_by_name_and_type_and_cut_at_one_half(written):
    monitor = written(MAIL)

    columns = monitor.source.columns
    assert (columns.id, columns.time, columns.score) == ("mail_id", "scored_at", "score")
    assert (columns.predicted, monitor.source.threshold) == (None, 0.5)
    assert (monitor.name, monitor.source.path) == ("predictions", "predictions/*.parquet")


def test_labelers_see_texts_but_nothing_that_a_model_or_a_person_said(written):
    assert written(MAIL).source.columns.show == ("subject", "body")


def test_a_zone_is_written_only_where_times_name_none(written):
    assert written(MAIL).source.time_zone == "UTC"
    assert written(CARDS).source.time_zone is None


def test_a_predicted_class_is_found_and_a_well_known_name_goes_before_one_like_it(written):
    columns = written(CARDS).source.columns

    assert (columns.id, columns.time) == ("id", "predicted_at")
    assert (columns.predicted, columns.score) == ("prediction", None)


def test_a_threshold_says_that_the_score_decides(written):
    columns = [*CARDS, ("fraud_score", "FLOAT")]

    source = written(columns, Chosen(threshold=0.9)).source

    assert (source.columns.score, source.threshold) == ("fraud_score", 0.9)
    assert source.columns.predicted is None


def test_a_column_of_labels_needs_no_people_and_shows_them_nothing(written):
    monitor = written(MAIL, Chosen(label="is_travel_label"))

    assert (monitor.labeling.kind, monitor.labeling.value) == ("column", "is_travel_label")
    assert monitor.source.columns.show == ()
    assert monitor.settings().round.deadline == monitor.labeling.matures


def test_a_predicted_text_needs_the_value_that_means_positive(written):
    columns = [*CARDS[:5], ("decision", "VARCHAR")]

    with pytest.raises(InputRefused, match=r"which value of 'decision' means positive"):
        write_config("p.csv", columns, Chosen(predicted="decision"))

    assert written(columns, Chosen(positive="fraud")).source.positive == "fraud"


@pytest.mark.parametrize(
    ("columns", "chosen", "sentence"),
    [
        (MAIL[1:], Chosen(), "nothing tells which column is the id (--id)"),
        ([MAIL[0], MAIL[2]], Chosen(), "which column is the time of the prediction (--time)"),
        (MAIL[:2], Chosen(), "which rows are flagged (--score with --threshold, or --predicted)"),
        (CARDS[1:], Chosen(time="when"), "there is no column 'when' (--time)"),
        ([("a_id", "UUID"), ("b_id", "UUID"), *MAIL[1:]], Chosen(), "is the id (--id)"),
        ([*MAIL, ("sent", "DATE"), ("seen", "DATE")][2:], Chosen(id="body"), "(--time)"),
        (MAIL, Chosen(predicted="score", threshold=0.5), "both say which rows are flagged"),
        (CARDS, Chosen(threshold=0.5), "--threshold needs a column of scores (--score)"),
        (MAIL, Chosen(positive="1"), "--positive needs --predicted"),
        (MAIL, Chosen(threshold=float("nan")), "--threshold nan is no finite number"),
    ],
)
def test_what_cannot_be_told_is_refused_with_the_flag_and_the_columns(columns, chosen, sentence):
    with pytest.raises(InputRefused) as caught:
        write_config("predictions.parquet", columns, chosen)

    assert sentence in str(caught.value)
    assert str(caught.value).endswith(f"{columns[-1][0]} ({columns[-1][1]})")


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
        write_config(f"{names[3]}.csv", columns, Chosen(id=names[0], score=names[2])),
        encoding="utf-8",
        newline="",
    )

    source = load_config(path, {}).monitors[0].source
    assert isinstance(source, DuckdbSettings)
    found = source.columns
    assert [found.id, found.time, found.score] == names[:3]
    assert source.path == f"{names[3]}.csv"
