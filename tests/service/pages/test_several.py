"""Several people on one round: each has an order of their own."""

from monitor.service.pages.labeling import task_queue
from tests.service.pages.people import place_of


def test_each_person_has_an_order_of_their_own_within_a_block(database, tmp_path, monkeypatch):
    monkeypatch.setattr(task_queue, "BLOCK", 15)
    place = place_of(database, tmp_path, labels=30)
    common = [row["key"] for row in place.scene.rows("select * from page_tasks order by place")]

    orders = []
    for name in ("ada", "bob"):
        orders.append([*place.answer_all(name, "1")])
        forgotten = "update page_tasks set held_by = null, held_until = null"
        place.scene.execute("delete from page_answers", forgotten)

    assert orders[0] != orders[1]
    for said in orders:
        assert said != common
        assert set(said[:15]) == set(common[:15])
        assert sorted(said) == sorted(common)
