"""Blocks of monitors from the config to what commands show, on real files."""

import pytest

from monitor.sources.duckdb import DuckdbSource

SCORES = {
    f"score_{name}": f"case when i % 10 = {place} then 0.5 + (i % 70) / 200 else (i % 90) / 200 end"
    for place, name in enumerate(("travel", "finance", "sports"))
}
TRUTHS = {
    f"is_{name}": f"case when i % 10 = {place} then i % 50 > {place} else i % 20 = 11 end::int"
    for place, name in enumerate(("travel", "finance", "sports"))
}
TOPIC = "case i % 10 when 0 then 'travel' when 1 then 'finance' else 'other' end"
TRUE_TOPIC = f"case when i % 7 = 0 then 'other' when i % 20 = 13 then 'travel' else {TOPIC} end"
EACH = """\
store: sqlite:///monitor.db
mlflow: {{tracking_uri: http://127.0.0.1:9}}
monitors:
  - name: mail-{{topic}}
    for_each: {{topic: [{topics}]}}
    source:
      path: predictions.parquet
      columns: {{id: mail_id, time: scored_at, score: "score_{{topic}}", show: [subject]}}
      threshold: 0.5
    schedule: {{cron: "{cron}"}}
    sample: {{max_labels: 40, bands: {{flagged: 1, passed: 1}}}}
    labeling: {labeling}
    limits: {{precision: 0.5, false_alarm_every: 10}}
"""
COLUMN = '{kind: column, path: predictions.parquet, id: mail_id, value: "is_{topic}", matures: 1s}'
BY_CLASS = """\
store: sqlite:///monitor.db
mlflow: {{tracking_uri: http://127.0.0.1:9}}
monitors:
  - name: mail-{{class}}
    classes: {{column: topic, values: [travel, finance, other]}}
    source:
      path: predictions.parquet
      columns: {{id: mail_id, time: scored_at, show: [subject]}}
    schedule: {{cron: "{cron}"}}
    sample: {{max_labels: 40}}
    labeling:
      {{kind: column, path: predictions.parquet, id: mail_id, value: true_topic, matures: 1s}}
"""


def each(place, topics="travel, finance, sports", labeling=COLUMN):
    text = EACH.format(topics=topics, cron=place.cron, labeling=labeling)
    place.write("config.yaml", text)


@pytest.fixture
def scored(bare):
    bare.predictions(**SCORES, **TRUTHS)
    each(bare)
    return bare


@pytest.fixture
def openings(monkeypatch):
    """How often the predictions were opened, with the step that did."""
    found = []
    opened = DuckdbSource.opened

    def noted(source, window=None):
        found.append(window)
        return opened(source, window)

    monkeypatch.setattr(DuckdbSource, "opened", noted)
    return found


def drawn(place, store="monitor.db"):
    """Items of each monitor."""
    rows = place.query(
        "select monitors.name, items.id from items join rounds on rounds.id = items.round_id "
        "join monitors on monitors.id = rounds.monitor_id",
        store=store,
    )
    return {name: {item for of, item in rows if of == name} for name, _ in rows}


def rounds_of(place):
    return place.query(
        "select monitors.name, rounds.number, rounds.state from rounds "
        "join monitors on monitors.id = rounds.monitor_id order by 1, 2"
    )


NAMES = ("mail-finance", "mail-sports", "mail-travel")


def test_a_monitor_that_fails_keeps_none_of_its_block_from_its_round(scored):
    each(scored, topics="finanse, travel, sports", labeling="{kind: files}")

    checked, ran = scored.run("check"), scored.run("run-once")

    assert (checked.code, ran.code) == (65, 65)
    for well in ("mail-travel", "mail-sports"):
        assert any(line.startswith(f"ok       source of {well}: ") for line in checked.lines)
    [line] = [line for line in checked.lines if "source of mail-finanse" in line]
    assert "no column 'score_finanse'" in line
    assert "did you mean 'score_finance'?" in line
    assert any("mail-finanse" in line and "score_finanse" in line for line in ran.lines)
    assert rounds_of(scored) == [
        ("mail-finanse", 1, "open"),
        ("mail-sports", 1, "labeling"),
        ("mail-travel", 1, "labeling"),
    ]


def test_a_value_that_is_added_is_a_monitor_with_its_own_keys_and_one_removed_is_told(scored):
    each(scored, topics="travel, finance", labeling="{kind: files}")
    scored.run("run-once")
    each(scored, topics="finance, sports", labeling="{kind: files}")

    scored.run("run-once")

    assert rounds_of(scored) == [(name, 1, "labeling") for name in NAMES]
    [told] = [line for line in scored.run("status").lines if "mail-travel" in line]
    assert "not in the config" in told
    assert "note     not in the config: mail-travel is in the store" in scored.run("check").out
    [left] = scored.as_json("status")["left_behind"]
    assert (left["monitor"], left["alerts"]) == ("mail-travel", [])
    counted = "select count(distinct key), count(distinct item_id) from tasks"
    [(keys, items)] = scored.query(counted)
    assert keys == 3 * 40
    assert items < keys


@pytest.fixture
def classed(bare):
    bare.predictions(topic=TOPIC, true_topic=TRUE_TOPIC)
    bare.write("config.yaml", BY_CLASS.format(cron=bare.cron))
    return bare


def test_classes_share_a_reading_and_each_is_flagged_where_it_is_predicted(classed, openings):
    before = classed.run("status").out
    openings.clear()
    ran = classed.run("run-once")

    assert ran.code == 75  # no MLflow answers
    flagged = dict(
        classed.query(
            "select monitors.name, sum(size) from strata join rounds on rounds.id = round_id "
            "join monitors on monitors.id = monitor_id where flagged group by 1"
        )
    )
    positive = classed.query(
        "select distinct monitors.name, cast(substr(label_events.item_id, 2) as int), answer "
        "from label_events join rounds on rounds.id = round_id "
        "join monitors on monitors.id = monitor_id"
    )
    of_predictions = [window for window in openings if window is not None]  # the truth has none
    assert len(of_predictions) == 1 + 3
    items = drawn(classed)
    assert len(set.union(*items.values())) < sum(map(len, items.values()))
    assert flagged == {"mail-travel": 20, "mail-finance": 20, "mail-other": 160}
    assert len(positive) == 3 * 40
    for name, place, value in positive:
        truth = "other" if place % 7 == 0 else _truth(place)
        assert (value == "1") == (name == f"mail-{truth}"), (name, place)
    assert "mail, all 3 classes: nothing reported yet" in before
    assert_status_and_show_have_the_averages(classed)


def assert_status_and_show_have_the_averages(classed):
    status, of_one = classed.run("status").out, classed.run("status", "-m", "mail-other").out
    show = classed.run("show", "1", "-m", "mail-other").out
    [block] = classed.as_json("status")["classes"]
    page = classed.as_json("show", "1", "-m", "mail-other")

    assert "mail, all classes: round due" in status
    for name in ("macro precision", "macro recall", "micro precision", "micro recall"):
        assert name in status
        assert name in of_one
        assert name in show
    assert block["report"] == page["classes"]
    assert block["report"]["labels"] == 120
    assert block["report"]["items"] < 120  # the samples overlap
    assert block["waits_for"] == []


def _truth(place):
    if place % 20 == 13:
        return "travel"
    return {0: "travel", 1: "finance"}.get(place % 10, "other")


def test_a_class_that_the_block_does_not_have_is_refused_by_its_name(classed):
    classed.predictions(topic=TOPIC.replace("'other'", "'spam'"), true_topic=TRUE_TOPIC)

    ran = classed.run("run-once")

    assert ran.code == 65
    assert any("mail-travel" in line and "'spam'" in line for line in ran.lines)
