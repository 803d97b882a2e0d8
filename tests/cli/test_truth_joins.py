"""Labels in a column that reach some items only, or whose ids are written otherwise."""

from datetime import timedelta

import pytest

from tests.cli.workplace import COLUMN

FLAGGED_ALONE = "case when i % 10 = 0 then (i % 50 > 0)::int end"
NEGATIVE = COLUMN.replace("matures: 1s", "matures: 1s, missing_means: negative")
CERTAIN = {"rows": 8000}  # 160 positives among the flagged of a window


def test_labels_of_flagged_items_alone_are_refused_as_negatives_unless_the_config_knows_it(bare):
    bare.predictions(**CERTAIN, is_travel=FLAGGED_ALONE)
    bare.config(NEGATIVE)

    checked = bare.run("check")
    bare.run("run-once")
    status = bare.run("status")

    for said in (checked.out, status.out):
        assert "labels exist for flagged items alone: 200 of 200 flagged items" in said
        assert "none of 1800 passed ones" in said
    assert "recall     this round" not in status.out

    bare.config(NEGATIVE.replace("negative", "negative, passed_without_rows: accept"))

    assert "PROBLEM  labels" not in bare.run("check").out
    assert "is closed" in bare.run("run-once").out


def test_without_labels_of_passed_items_precision_is_estimated_and_recall_is_not(bare):
    bare.predictions(is_travel=FLAGGED_ALONE)
    bare.config()

    checked, ran = bare.run("check"), bare.run("run-once")
    status = bare.run("status")

    assert "0 of 180 passed items have a label, and 20 of 20 flagged ones" in checked.out
    assert "is closed, partial" in ran.out
    assert "precision  this round alone     0." in status.out
    for basis in ("this round alone   ", "with earlier rounds"):
        assert f"recall     {basis}  not estimable: none of the 180 passed items" in status.out
    needs = [line for line in status.out.splitlines() if "needs a look" in line]
    assert len([line for line in needs if "none of the 180 passed items" in line]) == 1


def test_a_column_of_positives_only_is_told_how_to_count_the_other_items(bare):
    bare.predictions(is_travel="case when i % 10 = 0 or i % 40 = 1 then 1 end")
    bare.config()

    checked, _, status = bare.run("check"), bare.run("run-once"), bare.run("status")

    for said in (checked.out, status.out):
        assert "labels are positive, and " in said
        assert "if the column lists positives only, set labeling.missing_means: negative" in said

    bare.config(NEGATIVE)

    assert "positives only" not in bare.run("check").out


BY_CASE = "case when i % 2 = 0 then 'M' else 'm' end || lpad(i::varchar, 4, '0')"
OWN_TRUTH = NEGATIVE.replace("path: predictions", "path: truth")


def test_a_config_that_accepts_similar_ids_has_its_round_closed_with_a_report(bare):
    bare.predictions()
    bare.predictions("truth.parquet", mail_id=BY_CASE)
    bare.config(OWN_TRUTH.replace("negative", "negative, similar_ids: accept"))

    assert "LOOK     labels" in bare.run("check").out
    assert "is closed" in bare.run("run-once").out
    assert "but for upper and lower case)" in bare.run("status").out


def test_a_window_that_lost_a_segment_says_so_in_check_and_status(bare):
    start = bare.now - timedelta(days=35)
    seconds = timedelta(days=35).total_seconds() / 7000
    time = f"timestamptz '{start.isoformat()}' + {seconds} * i * interval 1 second"
    lost = f"case when i >= 5590 and i % 3 = 0 then {time} - interval 90 days else {time} end"
    desk = "case when i % 3 = 0 then 'worst' else 'best' end"
    bare.predictions(rows=7000, scored_at=lost, desk=desk)
    bare.config(
        weekly=('* * *"', f'* * {bare.slot.isoweekday() % 7}"'),
        columns=("show: [subject]", "segments: [desk]"),
    )

    bare.backfill(days=35)
    checked, status = bare.run("check"), bare.run("status")

    for said in (checked.out, status.out):
        assert "holds fewer predictions than the 4 similar ones before" in said
        assert "0 with desk 'worst' (expected about" in said, said


def test_check_warns_of_a_truth_whose_load_broke_off_in_the_last_window(bare):
    cut = "case when i < 200 or i % 5 = 0 then (i % 3 = 0)::int end"

    said = bare.checked(columns={"rows": 400, "days": 2, "is_travel": cut}).out

    assert "passed items from" in said
    assert "have one in the window before; are all rows there?" in said


def test_check_and_plan_say_how_many_labels_of_a_column_people_check(bare):
    checked = COLUMN.replace("{", "{checks: 9, ", 1)

    found = bare.checked(f"{{flagged: {checked}, passed: {{kind: files}}}}").out

    assert "all flagged items are counted; people check 9 of its items a round" in found
    assert "People check 9 labels of columns besides." in bare.run("plan").out


OF_FLAGGED = "case when i % 10 = 0 then 0.5 + (i % 70) / 200 else (i % 90) / 200 end"
TURNED = "1 - case when i % 10 = 0 then 0.55 + (i % 70) / 200 else (i % 90) / 200 end"
LESS_OFTEN = "so flagged items are positive less often"


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"is_travel": "case when i % 10 = 0 then i % 50 = 0 else i % 20 > 1 end::int"},
            ["flagged items (20 %) and", LESS_OFTEN],
        ),
        ({"score": TURNED}, ["900 of 1,000 predictions are flagged (90 %)", LESS_OFTEN]),
        (
            {
                "rows": 8000,
                "score": OF_FLAGGED,
                "is_travel": "case when i % 10 = 0 then i % 20 = 0 else i % 90 < 30 end::int",
            },
            ["positives have lower scores than negatives"],
        ),
        ({}, []),
    ],
)
def test_labels_and_scores_of_the_other_class_need_a_look(bare, columns, words):
    checked = bare.checked(columns={"rows": 4000} | columns)

    # The made log has a round share of flagged items, of which check asks too.
    looks = [line for line in checked.lines if line.startswith("LOOK") and "kept_with" not in line]
    assert [word for word in words if not any(word in line for line in looks)] == [], looks
    assert bool(looks) == bool(words)
