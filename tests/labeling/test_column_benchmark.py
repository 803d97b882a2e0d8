"""What the benchmark of labels from a column compares brings the same labels."""

import pytest

from benchmarks import column_labels

ROWS, MONITORS, ITEMS = 2000, 3, 20


@pytest.mark.parametrize("ids", column_labels.IDS.values(), ids=column_labels.IDS)
def test_monitors_find_all_their_labels_alone_and_together(tmp_path, ids):
    path = tmp_path / "truth.parquet"
    column_labels.write(path, ROWS, ids)
    asked = column_labels.asked_items(path, ROWS, MONITORS, ITEMS)

    found = [column_labels.collected(path, asked, together=way) for way in (False, True)]

    assert found == [MONITORS * ITEMS] * 2


@pytest.mark.slow
def test_it_prints_each_work_beside_the_bare_scan(capsys):
    column_labels.main(rows=2000, monitors=2, items=5, repeats=1)

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2,000 rows, ids: numbers in order; 2 monitors x 5"
    assert [line.split()[0] for line in lines[1:5]] == list(column_labels.WORKS)
