"""Labels that become known later than ``matures``: what `check` and a round say."""

import re
from datetime import timedelta

import pytest

COLUMN = (
    "{kind: column, path: truth.parquet, id: mail_id, value: is_travel, time: seen, "
    "matures: MATURES, missing_means: negative}"
)
DAYS = 40


def labels_after(place, late_days, matures):
    """Write labels of which one in three is known after some days, the others after one."""
    start = (place.now - timedelta(days=DAYS)).isoformat()
    scored = f"timestamptz '{start}' + {DAYS * 86_400 / 4000} * i * interval 1 second"
    seen = f"{scored} + case when i % 3 = 0 then {late_days} else 1 end * interval 1 day"
    is_bad = "(i % 10 = 0 and i % 50 > 0) or i % 20 = 1"
    known = f"({seen}) <= timestamptz '{place.now.isoformat()}'"
    place.predictions(rows=4000, days=DAYS)
    place.predictions(
        "truth.parquet",
        rows=4000,
        days=DAYS,
        is_travel=f"case when ({is_bad}) and {known} then 1 end",
        seen=seen,
    )
    place.config(COLUMN.replace("MATURES", matures))


@pytest.mark.parametrize("late_days", [9, 12])
def test_check_and_the_round_say_that_labels_come_after_matures_and_what_is_long_enough(
    bare, late_days
):
    labels_after(bare, late_days=late_days, matures="4d")

    checked = bare.run("check").line("later than labeling.matures")
    bare.backfill(days=6)
    status = bare.run("status").line("later than labeling.matures")

    for said in (checked, status):
        [(share, days)] = re.findall(r"(\d+) % of the positive .* labeling.matures to (\d+)d", said)
        assert 20 < int(share) < 47
        assert late_days - 1 <= int(days) <= late_days


def test_labels_that_come_in_time_need_no_word(bare):
    labels_after(bare, late_days=3, matures="4d")

    checked = bare.run("check")
    bare.backfill(days=6)

    assert "labeling.matures" not in checked.out
    assert "labeling.matures" not in bare.run("status").out
