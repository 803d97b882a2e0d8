"""Labels that became known before the prediction of their item: what `check` and a round say."""

import re

import pytest

COLUMN = (
    "{kind: column, path: truth.parquet, id: mail_id, value: is_travel, time: seen, matures: 1d}"
)
SENTENCE = "became known (labeling.time) before their prediction"


def labels_known(place, seen):
    """Write predictions of 40 days and labels of them, known at ``seen`` by ``scored_at``."""
    place.predictions(rows=4000, days=40)
    place.predictions("truth.parquet", rows=4000, days=40, seen=seen)
    place.config(COLUMN)


def scored(place):
    start = place.now.timestamp() - 40 * 86_400
    return f"(to_timestamp({start}) + i * interval '864 seconds')"


def test_check_and_status_count_labels_that_are_older_than_their_predictions(bare):
    labels_known(bare, f"{scored(bare)} + case when i % 4 = 0 then -1 else 1 end * interval '1 h'")

    checked = bare.run("check").line(SENTENCE)
    bare.backfill(days=2)
    status = bare.run("status").line(SENTENCE)

    for line in (checked, status):
        [(older, labels)] = re.findall(r"(\d+) of (\d+) labels became", line)
        assert 0.1 < int(older) / int(labels) < 0.4
    assert "LOOK" in checked


@pytest.mark.parametrize(
    ("seen", "is_told"),
    [
        ("{0} + interval '1 hour'", False),
        ("{0} - case when i = 3950 then 9 else 0 end * interval '1 day'", False),  # but for one
        ("date_trunc('day', timezone('UTC', {0}))", False),  # it may be of any hour of that day
        ("date_trunc('day', timezone('UTC', {0})) - interval '2 days'", True),
    ],
)
def test_labels_that_are_not_older_or_have_a_date_alone_need_no_word(bare, seen, is_told):
    labels_known(bare, seen.format(scored(bare)))

    assert (SENTENCE in bare.run("check").out) == is_told
