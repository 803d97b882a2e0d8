"""Blocks of monitors in the config: written out as single ones, or refused by line."""

import re

import pytest

from monitor.config.blocks import written_out
from monitor.config.diff import changes, written
from monitor.config.load import load_config
from monitor.config.yaml_tree import read_yaml
from monitor.domain.block import Block
from monitor.domain.settings import RoundSettings
from monitor.labeling.column import ColumnLabeler
from monitor.labeling.page import PageLabeler
from monitor.wiring import build
from tests.config_texts import refusals, sentences

EACH = """\
monitors:
  - name: mail-{column}
    for_each: {column: [travel, finance]}
    source:
      path: p.parquet
      columns: {id: id, time: at, score: "score_{column}"}
      threshold: 0.5
    schedule: {cron: "0 6 * * MON"}
    labeling: {kind: page, question: "Is this mail about {column}?"}
    limits: {precision: 0.8, false_alarm_every: 52}
"""
CLASSES = """\
monitors:
  - name: mail-{class}
    classes: {column: topic, values: [travel, finance, other]}
    source: {path: p.parquet, columns: {id: id, time: at, score: "score_{class}"}}
    schedule: {cron: "0 6 * * MON"}
    labeling: {kind: column, path: t.parquet, id: id, value: true_topic, matures: 5d}
"""


def changed(text, before, after):
    assert text.count(before) == 1, before
    return text.replace(before, after)


def test_monitors_of_a_block_do_not_repeat_all_its_values(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(changed(EACH, "travel, finance", ", ".join(f"c{n}" for n in range(200))))

    tree, _ = written_out(read_yaml(path))

    assert ("monitors", 199, "name") in tree.lines
    assert ("monitors", 200) not in tree.lines
    assert len(tree.lines) < 30 * 200


def test_each_value_gives_a_monitor_with_the_value_wherever_its_placeholder_stands(load):
    config = load(EACH)
    travel, finance = config.monitors

    assert (travel.name, finance.name) == ("mail-travel", "mail-finance")
    assert travel.source.columns.score == "score_travel"
    assert finance.labeling.question == "Is this mail about finance?"
    assert finance.block == Block(
        name="mail", kind="for_each", value="finance", values=("travel", "finance")
    )
    stored = config.settings_of(finance).round.model_dump_json()
    assert RoundSettings.model_validate_json(stored).block == finance.block


def test_classes_share_a_truth_that_stands_where_the_predictions_are(load):
    text = CLASSES.replace("path: p.parquet", "kind: sql, url: 'sqlite:///p.db', table: p")

    config = load(text.replace("path: t.parquet, ", ""))

    found = (context.labeler for context in build(config).monitors)
    labelers = [labeler for labeler in found if isinstance(labeler, ColumnLabeler)]
    assert [labeler.settings.positive for labeler in labelers] == ["travel", "finance", "other"]
    assert len({labeler.truths.whole_location for labeler in labelers}) == 1


def test_columns_that_can_be_no_part_of_a_name_get_one_in_a_list_of_their_own(load):
    lists = '{column: ["score 1", "score 1", "scöre"], as: [one, strict, two], at: [0.5, 0.9, 0.5]}'
    text = changed(EACH, "{column: [travel, finance]}", lists).replace(
        "mail-{column}", "mail-{as}-{at}"
    )
    text = changed(text, '"score_{column}"', '"{column}"').replace(
        "threshold: 0.5", 'threshold: "{at}"'
    )

    *_, strict, two = load(text).monitors

    assert (strict.name, strict.source.columns.score) == ("mail-strict-0.9", "score 1")
    assert strict.source.threshold == 0.9
    assert (two.block.name, two.block.value) == ("mail", "two")


def test_null_in_a_second_list_leaves_a_setting_out_for_one_monitor(load):
    text = changed(EACH, "[travel, finance]", "[travel, finance], by: [amount, null]")
    config = load(changed(text, "columns: {", 'columns: {weight: "{by}", '))

    assert [each.source.columns.weight for each in config.monitors] == ["amount", None]


def test_double_braces_are_the_text_and_variables_stay_variables(load):
    text = changed(EACH, "about {column}?", "{{column}} ${LABELS} {column}?")

    assert load(text).monitors[0].labeling.question == "Is this mail {column} 1200 travel?"


def test_a_block_of_classes_flags_each_class_where_it_is_predicted(load):
    travel, finance, other = load(CLASSES).monitors

    assert travel.source.columns.predicted == "topic"
    assert (travel.source.positive, travel.source.negative) == ("travel", ("finance", "other"))
    assert (finance.labeling.positive, finance.labeling.value) == ("finance", "true_topic")
    assert other.source.columns.score == "score_other"
    assert other.block == Block(
        name="mail", kind="classes", value="other", values=("travel", "finance", "other")
    )


def test_classes_that_can_be_no_part_of_a_name_get_one(load):
    text = changed(CLASSES, "[travel, finance, other]", "{real-estate: Real estate, three: 3}")

    estate, three = load(text).monitors

    assert (estate.name, estate.source.positive) == ("mail-real-estate", "Real estate")
    assert (three.name, three.source.positive, three.block.value) == ("mail-three", 3, "3")


def test_a_class_that_is_the_number_one_takes_every_other_true_class_for_a_no(load):
    one, *_ = load(changed(CLASSES, "[travel, finance, other]", "[1, 2, 3]")).monitors

    assert (one.labeling.positive, one.labeling.negatives) == (1, None)


def test_classes_without_a_monitor_are_known_by_negative(load):
    text = changed(CLASSES, "source: {path", "source: {negative: [spam], path")

    assert load(text).monitors[0].source.negative == ("finance", "other", "spam")


def test_a_block_promises_few_false_alarms_as_one_and_shares_a_promise_over_the_file_once(load):
    whole = changed(EACH, ", false_alarm_every: 52", "")

    for text in (EACH, f"false_alarms: {{at_most: 1, per: 52w}}\n{whole}"):
        config = load(text)
        assert config.false_alarm_every(config.monitors[0]) == 104
        assert sum(config.false_alarms_a_year().values()) == pytest.approx(1)


BY_CLASS = changed(
    CLASSES,
    "{kind: column, path: t.parquet, id: id, value: true_topic, matures: 5d}",
    '{kind: page, question: "What is this mail about?", answer: class}',
)
BY_YES_NO = changed(BY_CLASS, "What is this mail about?", "Is it about {class}?").replace(
    ", answer: class", ""
)
REFUSED_EACH = """\
[travel, finance] => []
    3, monitors[mail-{column}].for_each.column: an empty list makes no monitor; name a value or more, or remove the block
[travel, finance] => [<c0 to c1000>]
    3, monitors[mail-{column}].for_each.column: these are 1,001 values, and a block has at most 1,000
[travel, finance] => travel
    3, monitors[mail-{column}].for_each.column: expected a list of values, such as [a, b]
[travel, finance] => [travel, travel]
    3, monitors[mail-{column}].for_each.column: 'travel' is listed twice; name each value once
[travel, finance] => [travel, null]
    3, monitors[mail-{column}].for_each.column: expected a list of texts or numbers, such as [a, b]
[travel, finance]}⏎    source: => [travel, finance], of: [a, null]}⏎    model: "models:/{of}/1"⏎    source:
    4, monitors[mail-{column}].model: {of} is null for a monitor, and no text holds null; use it alone
about {column}? => about {colum}?
    9, monitors[mail-{column}].labeling.question: {colum} is not a placeholder of this block, which has {column}; write {{colum}} for the text
mail-{column} => mail
    2, monitors[mail].name: all monitors of the block would have the same name; write mail-{column}
- name: mail-{column}⏎    for => - for
    2, monitors[0].name: all monitors of the block would have the same name; write mail-{column}
[travel, finance] => [travel, real estate]
    3, monitors[mail-{column}].for_each: 'real estate' makes a monitor named 'mail-real estate', and a name has 1 to 100 letters, digits, '_', '-' or '.'; use a second list for the names: for_each: {column: [...], as: [...]}, and {as} in name
"score_{column}" => score
    3, monitors[mail-{column}].for_each.column: no setting of source has {column}, so all monitors of the block would read the same data; write it there, such as columns: {score: "{column}"}
[travel, finance]} => [travel, finance], at: [0.5]}
    3, monitors[mail-{column}].for_each.at: there are 1 for 2 of column; lists are read in parallel, so make them equally long
[travel, finance]} => [travel, finance], at: [0.5, 0.7]}
    3, monitors[mail-{column}].for_each.at: {at} is not used in any setting of the block; use it or remove it
      threshold: 0.5 =>       threshold: 0.5⏎      where: {"is_{column}": 1}
    8, monitors[mail-{column}].source.where.is_{column}: placeholders work in values, not in names of settings; write the name out
threshold: 0.5 => threshold: {column}
    7, monitors[mail-{column}].source.threshold: YAML reads braces without quotes as a mapping; put {column} in quotes
labeling: {kind => labeling: {answer: class, kind
    9, monitors[mail-{column}].labeling.answer: people can choose a class where a block has classes; write classes: {column: ..., values: [...]}, or remove answer and ask for yes or no
"""  # noqa: E501  a sentence stands on one line
REFUSED_CLASSES = """\
[travel, finance, other] => [travel]
    3, monitors[mail-{class}].classes.values: a classifier has two classes or more; of one alone make a plain monitor
[travel, finance, other] => [<c0 to c300>]
    3, monitors[mail-{class}].classes.values: these are 301 classes, and a block has monitors for 300 at most; list those that need none in source.negative
[travel, finance, other] => {a: travel, b: 'travel '}
    3, monitors[mail-{class}].classes.values: 'travel' is listed twice; name each value once
column: topic,  => <nothing>
    3, monitors[mail-{class}].classes.column: this setting is missing; such as classes: {column: predicted, values: [travel, finance, other]}
source: {path => source: {threshold: 0.5, path
    4, monitors[mail-{class}].source.threshold: a block of classes needs none: each class is flagged where it is the predicted one; remove it
source: {path => source: {negative: [spam, travel], path
    4, monitors[mail-{class}].source.negative: 'travel' is among classes.values, each of which has its monitor
{id: id, time: at, => {id: id, time: at, predicted: topic,
    4, monitors[mail-{class}].source.columns.predicted: a block of classes needs none: classes.column is that column; remove it
    source =>     for_each: {a: [b]}⏎    source
    3, monitors[mail-{class}].classes: a block has for_each or classes, not both; split it in two
"""  # noqa: E501
REFUSED_ANSWERS = """\
about? => about {class}?
    6, monitors[mail-{class}].labeling.question: people are asked once for all classes (answer: class), so it cannot differ by class; leave {class} out, as in: What is this mail about?
kind: page => kind: mlflow
    6, monitors[mail-travel].labeling.answer: there is no such setting here; kind: page has it; remove it, or change the kind
"""  # noqa: E501


@pytest.mark.parametrize(
    ("text", "before", "after", "line"),
    [
        (text, *row)
        for text, told in (
            (EACH, REFUSED_EACH),
            (CLASSES, REFUSED_CLASSES),
            (BY_CLASS, REFUSED_ANSWERS),
        )
        for row in sentences(told)
    ],
)
def test_a_block_that_makes_no_monitors_is_refused_by_its_line(refused, text, before, after, line):
    many = re.sub(
        r"<c0 to c(\d+)>", lambda last: ", ".join(f"c{n}" for n in range(int(last[1]) + 1)), after
    )

    assert refused(changed(text, before, many)) == [line]


def test_a_round_keeps_the_kind_of_answer_and_the_classes_that_it_was_opened_with(load):
    more = changed(BY_CLASS, "other]", "other, sport]")
    texts = {"yes or no": BY_YES_NO, "class": BY_CLASS, "class of more": more}
    opened = {name: load(text) for name, text in texts.items()}

    for today, config in opened.items():
        context = build(config).monitors[0]
        for then, before in opened.items():
            [(kept, *_)] = context.labelers_of(before.settings_of(before.monitors[0]).round)
            assert isinstance(kept, PageLabeler)
            classes = None if then == "yes or no" else before.monitors[0].block
            assert (kept.block, then) == (classes, then), today
            asked = before if (today == "yes or no") is not (then == "yes or no") else config
            assert kept.settings.question == asked.monitors[0].labeling.question


def test_two_blocks_have_two_names(refused):
    other = CLASSES.removeprefix("monitors:\n")

    [found] = refused(EACH + other)

    assert found == (
        "config.yaml:11, monitors[mail-{class}].name: the block is called mail, as is the block of "
        "line 2; give it another name"
    )


def test_what_is_wrong_with_all_monitors_of_a_block_is_told_once(refused):
    [found] = refused(changed(EACH, "precision: 0.8", "precision: 80"))

    assert found.startswith("config.yaml:10, monitors[mail-travel].limits.precision: 80 is not")


def test_a_value_more_or_less_is_a_monitor_more_or_less_and_a_setting_is_told_of_each(tmp_path):
    path = tmp_path / "config.yaml"

    def change(before, after):
        path.write_text(EACH)
        old = load_config(path), written(path)
        path.write_text(changed(EACH, before, after))
        return changes(old, (load_config(path), written(path)))

    found = change("[travel, finance]", "[finance, sports]")
    limit = change("precision: 0.8", "precision: 0.7")

    assert (found.added, found.removed, found.changed) == (("mail-sports",), ("mail-travel",), {})
    line = ("limits.precision: 0.8 -> 0.7",)
    assert limit.changed == {"mail-travel": line, "mail-finance": line}


def test_a_name_that_is_no_text_is_refused_beside_a_block(tmp_path):
    single = CLASSES.replace("mail-{class}", "[a]").replace(
        "    classes: {column: topic, values: [travel, finance, other]}\n", ""
    )

    said = "it should be a valid string, found a list of 1"
    assert any(said in one for one in refusals(tmp_path, EACH + single.partition("\n")[2]))
