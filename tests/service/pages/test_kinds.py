"""What a person sees of items that are no plain texts."""

import pytest

from monitor.domain.shown import picture
from tests.pictures import png
from tests.service.pages.people import Place, on_page, scene_of


def place_showing(database, folder, **values):
    """A page with a round whose items show these values."""
    scene = on_page(scene_of(database), folder)
    scene.source.shown = tuple(values)
    scene.week(1)
    for row in scene.source.rows:
        row.update(values)
    scene.run(1)
    return Place(scene)


def images(page):
    return [named["src"] for tag, named in page.elements if tag == "img"]


@pytest.fixture
def place(database, tmp_path):
    return place_showing(database, tmp_path, text="a mail", picture=picture(png()))


@pytest.fixture
def ada(place):
    return place.person("ada")


def test_a_picture_is_shown_from_an_address_of_its_own_to_the_script_too(ada):
    [address] = images(ada.page)

    answer = ada.client.get(address)

    assert answer.status_code == 200
    assert answer.content == png()
    assert answer.headers["content-type"] == "image/png"
    assert "data:" not in ada.response.text, "the policy of the page lets no data URL load"
    [policy] = ada.response.headers.get_list("content-security-policy")
    assert "img-src 'self'; frame-src 'self'; connect-src 'self'" in policy
    assert "script-src 'self'; style-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    scripts = ada.client.get("/label/next", headers={"accept": "application/json"})
    [first] = [one for one in scripts.json()["items"] if one["task"] == ada.task]
    assert [(part["kind"], part["address"]) for part in first["parts"]] == [
        ("text", ""),
        ("image", address),
    ]


def test_nobody_sees_a_picture_that_is_not_on_their_screen(place, ada):
    bob = place.person("bob")
    mine, others = images(ada.page)[0], images(bob.page)[0]

    assert ada.client.get(mine).status_code == 200
    assert ada.client.get(others).status_code == 404
    assert place.client().get(mine).status_code == 401


def test_an_address_of_no_picture_of_a_task_on_the_screen_shows_nothing(ada):
    parts = ("", "0", "2", "-1", "x", "\u00b2", "99999999999999999999")
    asked = [{}, {"task": "x", "part": "1"}, {"task": "\x00", "part": "1"}]

    for params in [*asked, *({"task": ada.task, "part": part} for part in parts)]:
        assert ada.client.get("/label/picture", params=params).status_code == 404


def test_an_answered_picture_is_there_for_undo_and_a_deleted_one_is_gone(place, ada):
    [address] = images(ada.page)
    answered = ada.task
    ada.answer("1")
    kept = ada.client.get(address).status_code

    [round_name] = {row["round_name"] for row in place.scene.rows("select * from page_tasks")}
    place.scene.labeler.forget(round_name, [answered, ada.task])

    assert (kept, ada.client.get(address).status_code) == (200, 404)
    assert ada.get().page.text.count("was deleted") == 1


def test_html_stands_in_a_sandbox_with_a_policy_of_its_own(database, tmp_path):
    html = {"kind": "html", "value": "<script>1</script>"}
    ada = place_showing(database, tmp_path, body=html).person("ada")
    [frame] = [named for tag, named in ada.page.elements if tag == "iframe"]

    answer = ada.client.get(frame["src"])

    assert frame["sandbox"] == ""
    assert "<script>" not in ada.response.text.replace("<script src=", "")
    assert answer.text.endswith("<script>1</script>")
    policies = answer.headers.get_list("content-security-policy")
    assert len(policies) == 1, "two policies would be both in force"
    assert policies[0].startswith("sandbox; default-src 'none';")
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    assert answer.headers["cache-control"] == "no-store"
    assert ada.client.get(frame["src"].replace("html", "picture")).status_code == 404
