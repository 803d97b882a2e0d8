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

    tree = written_out(read_yaml(path)).tree

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
    assert len({labeler.reading for labeler in labelers}) == 1


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
[travel, finance] => [<c0 to c300>, c301, c302, c303, c304, c305, c306, c307, c308, c309, c310, c311, c312, c313, c314, c315, c316, c317, c318, c319, c320, c321, c322, c323, c324, c325, c326, c327, c328, c329, c330, c331, c332, c333, c334, c335, c336, c337, c338, c339, c340, c341, c342, c343, c344, c345, c346, c347, c348, c349, c350, c351, c352, c353, c354, c355, c356, c357, c358, c359, c360, c361, c362, c363, c364, c365, c366, c367, c368, c369, c370, c371, c372, c373, c374, c375, c376, c377, c378, c379, c380, c381, c382, c383, c384, c385, c386, c387, c388, c389, c390, c391, c392, c393, c394, c395, c396, c397, c398, c399, c400, c401, c402, c403, c404, c405, c406, c407, c408, c409, c410, c411, c412, c413, c414, c415, c416, c417, c418, c419, c420, c421, c422, c423, c424, c425, c426, c427, c428, c429, c430, c431, c432, c433, c434, c435, c436, c437, c438, c439, c440, c441, c442, c443, c444, c445, c446, c447, c448, c449, c450, c451, c452, c453, c454, c455, c456, c457, c458, c459, c460, c461, c462, c463, c464, c465, c466, c467, c468, c469, c470, c471, c472, c473, c474, c475, c476, c477, c478, c479, c480, c481, c482, c483, c484, c485, c486, c487, c488, c489, c490, c491, c492, c493, c494, c495, c496, c497, c498, c499, c500, c501, c502, c503, c504, c505, c506, c507, c508, c509, c510, c511, c512, c513, c514, c515, c516, c517, c518, c519, c520, c521, c522, c523, c524, c525, c526, c527, c528, c529, c530, c531, c532, c533, c534, c535, c536, c537, c538, c539, c540, c541, c542, c543, c544, c545, c546, c547, c548, c549, c550, c551, c552, c553, c554, c555, c556, c557, c558, c559, c560, c561, c562, c563, c564, c565, c566, c567, c568, c569, c570, c571, c572, c573, c574, c575, c576, c577, c578, c579, c580, c581, c582, c583, c584, c585, c586, c587, c588, c589, c590, c591, c592, c593, c594, c595, c596, c597, c598, c599, c600, c601, c602, c603, c604, c605, c606, c607, c608, c609, c610, c611, c612, c613, c614, c615, c616, c617, c618, c619, c620, c621, c622, c623, c624, c625, c626, c627, c628, c629, c630, c631, c632, c633, c634, c635, c636, c637, c638, c639, c640, c641, c642, c643, c644, c645, c646, c647, c648, c649, c650, c651, c652, c653, c654, c655, c656, c657, c658, c659, c660, c661, c662, c663, c664, c665, c666, c667, c668, c669, c670, c671, c672, c673, c674, c675, c676, c677, c678, c679, c680, c681, c682, c683, c684, c685, c686, c687, c688, c689, c690, c691, c692, c693, c694, c695, c696, c697, c698, c699, c700, c701, c702, c703, c704, c705, c706, c707, c708, c709, c710, c711, c712, c713, c714, c715, c716, c717, c718, c719, c720, c721, c722, c723, c724, c725, c726, c727, c728, c729, c730, c731, c732, c733, c734, c735, c736, c737, c738, c739, c740, c741, c742, c743, c744, c745, c746, c747, c748, c749, c750, c751, c752, c753, c754, c755, c756, c757, c758, c759, c760, c761, c762, c763, c764, c765, c766, c767, c768, c769, c770, c771, c772, c773, c774, c775, c776, c777, c778, c779, c780, c781, c782, c783, c784, c785, c786, c787, c788, c789, c790, c791, c792, c793, c794, c795, c796, c797, c798, c799, c800, c801, c802, c803, c804, c805, c806, c807, c808, c809, c810, c811, c812, c813, c814, c815, c816, c817, c818, c819, c820, c821, c822, c823, c824, c825, c826, c827, c828, c829, c830, c831, c832, c833, c834, c835, c836, c837, c838, c839, c840, c841, c842, c843, c844, c845, c846, c847, c848, c849, c850, c851, c852, c853, c854, c855, c856, c857, c858, c859, c860, c861, c862, c863, c864, c865, c866, c867, c868, c869, c870, c871, c872, c873, c874, c875, c876, c877, c878, c879, c880, c881, c882, c883, c884, c885, c886, c887, c888, c889, c890, c891, c892, c893, c894, c895, c896, c897, c898, c899, c900, c901, c902, c903, c904, c905, c906, c907, c908, c909, c910, c911, c912, c913, c914, c915, c916, c917, c918, c919, c920, c921, c922, c923, c924, c925, c926, c927, c928, c929, c930, c931, c932, c933, c934, c935, c936, c937, c938, c939, c940, c941, c942, c943, c944, c945, c946, c947, c948, c949, c950, c951, c952, c953, c954, c955, c956, c957, c958, c959, c960, c961, c962, c963, c964, c965, c966, c967, c968, c969, c970, c971, c972, c973, c974, c975, c976, c977, c978, c979, c980, c981, c982, c983, c984, c985, c986, c987, c988, c989, c990, c991, c992, c993, c994, c995, c996, c997, c998, c999, c1000]
    3, monitors[mail-{column}].for_each.column: these are 1,001 values, and a block has at most 1,000
[travel, finance] => travel
    3, monitors[mail-{column}].for_each.column: a list of values is wanted here, such as [a, b]
[travel, finance] => [travel, travel]
    3, monitors[mail-{column}].for_each.column: 'travel' stands there twice; name each value once
about {column}? => about {colum}?
    9, monitors[mail-{column}].labeling.question: {colum} is no placeholder of this block, which has {column}; write {{colum}} for the text
mail-{column} => mail
    2, monitors[mail].name: all monitors of the block would have one name; write mail-{column}
- name: mail-{column}⏎    for => - for
    2, monitors[0].name: all monitors of the block would have one name; write mail-{column}
[travel, finance] => [travel, real estate]
    3, monitors[mail-{column}].for_each: 'real estate' makes a monitor named 'mail-real estate', and a name has 1 to 100 letters, digits, '_', '-' or '.'; use a second list for the names: for_each: {column: [...], as: [...]}, and {as} in name
"score_{column}" => score
    3, monitors[mail-{column}].for_each.column: no setting of source has {column}, so all monitors of the block would watch the same; write it there, such as columns: {score: "{column}"}
[travel, finance]} => [travel, finance], at: [0.5]}
    3, monitors[mail-{column}].for_each.at: there are 1 for 2 of column; lists are read side by side, so give as many
[travel, finance]} => [travel, finance], at: [0.5, 0.7]}
    3, monitors[mail-{column}].for_each.at: {at} stands in no setting of the block; use it or leave it out
      threshold: 0.5 =>       threshold: 0.5⏎      where: {"is_{column}": 1}
    8, monitors[mail-{column}].source.where.is_{column}: placeholders stand in values, not in names of settings; write the name out
threshold: 0.5 => threshold: {column}
    7, monitors[mail-{column}].source.threshold: YAML reads braces without quotes as a mapping; put {column} in quotes
labeling: {kind => labeling: {answer: class, kind
    9, monitors[mail-{column}].labeling.answer: people can choose a class where a block has classes; write classes: {column: ..., values: [...]}, or leave it out and ask for yes or no
"""  # noqa: E501  a sentence stands on one line
REFUSED_CLASSES = """\
[travel, finance, other] => [travel]
    3, monitors[mail-{class}].classes.values: a classifier has two classes or more; of one alone make a plain monitor
[travel, finance, other] => [<c0 to c300>]
    3, monitors[mail-{class}].classes.values: these are 301 classes, and a block has monitors for 300 at most; list those that need none in source.negative
[travel, finance, other] => {a: travel, b: 'travel '}
    3, monitors[mail-{class}].classes.values: 'travel' stands there twice; name each value once
column: topic,  => <nothing>
    3, monitors[mail-{class}].classes.column: this setting is missing; such as classes: {column: predicted, values: [travel, finance, other]}
source: {path => source: {threshold: 0.5, path
    4, monitors[mail-{class}].source.threshold: a block of classes needs none: each class is flagged where it is the predicted one; leave it out
source: {path => source: {negative: [spam, travel], path
    4, monitors[mail-{class}].source.negative: 'travel' is among classes.values, each of which has its monitor
{id: id, time: at, => {id: id, time: at, predicted: topic,
    4, monitors[mail-{class}].source.columns.predicted: a block of classes needs none: classes.column is that column; leave it out
    source =>     for_each: {a: [b]}⏎    source
    3, monitors[mail-{class}].classes: a block has for_each or classes, not both; make two of it
"""  # noqa: E501
REFUSED_ANSWERS = """\
about? => about {class}?
    6, monitors[mail-{class}].labeling.question: people are asked once for all classes (answer: class), so it cannot differ by class; leave {class} out, as in: What is this mail about?
answer: class => answer: class, gold: gold.csv
    6, monitors[mail-travel].labeling.gold: the truth of a gold item is yes or no, and people are asked for the class; leave it out, or answer: class
answer: class => answer: class, audit: {tp: 9, fn: 1, tn: 9, fp: 1}
    6, monitors[mail-travel].labeling.audit: an audit counts how yes and no were labeled, and people are asked for the class; errors of one class say nothing of another's; leave it out, or answer: class
kind: page => kind: mlflow
    6, monitors[mail-travel].labeling.answer: there is no such setting here; kind: page has it; leave it out, or change the kind
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
def test_a_block_that_no_monitors_can_be_made_of_is_refused_by_its_line(
    refused, text, before, after, line
):
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


def test_no_class_explores_segments_of_the_sample_that_all_share(refused):
    explored = CLASSES + "    sample: {segments: explore}\n"

    assert any(
        "sample.segments: a block of classes has one sample" in fault for fault in refused(explored)
    )


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
