"""Which page is for whom."""

from tests.service.pages.people import Reader

PARTS = ("/label/picture", "/label/html")


def test_the_labeling_page_is_for_labelers_and_admins(ada, as_role):
    for role, status in (("labeler", 200), ("viewer", 403), ("admin", 200)):
        as_role(role)

        codes = [ada.client.get(path).status_code for path in ("/label", "/label/next", *PARTS)]
        assert codes == [status, status, *[404 if status == 200 else 403] * 2]


def test_a_viewer_answers_nothing_and_reads_why(place, ada, as_role):
    form = {**ada.page.forms["/label/answer"], "answer": "1"}
    as_role("viewer")

    answer = ada.client.post("/label/answer", data=form)

    assert answer.status_code == 403
    assert "not for you: your role here is viewer" in Reader(answer.text).text
    assert place.said == []


def test_a_sentence_leads_to_the_pages_of_the_role_only(ada, as_role):
    for role, leads_to in (("labeler", ["/label"]), ("viewer", ["/"]), ("admin", ["/label", "/"])):
        as_role(role)

        answer = ada.client.post("/leave", data={"form_token": "of another visit"})

        assert answer.status_code == 403
        assert links(answer) == leads_to


def test_who_left_or_never_came_in_is_led_to_no_page_that_is_closed(place, ada):
    left = ada.client.post("/leave", data={"form_token": ada.form_token})
    stranger = place.client().get("/enter?key=x")

    assert "You have left" in left.text
    assert stranger.status_code == 403
    assert links(left) == links(stranger) == []


def links(answer):
    return [named["href"] for tag, named in Reader(answer.text).elements if tag == "a"]
