"""What `pr-monitor check` says of the pages for people: address and login."""

import pytest

from tests.servers import free_port

PROXY = "behind_proxy: true"
JUDGED = "{kind: page, question: Is it spam?, overlap: 0.5, adjudicator: bob}"


@pytest.fixture
def pages(place):
    """Let the pages be for other machines; returns what check says of them, by what it tried."""

    def check(*settings, listen=None, **labeling):
        more = "".join(f"  {line}\n" for line in settings)
        section = (
            f"pages:\n  listen: {listen or f'127.0.0.1:{free_port()}'}\n"
            "  names: [labels.example.org]\n"
            f"  login: users\n{more}monitors:"
        )
        place.config(pages=("monitors:", section), **labeling)
        said = place.as_json("check")["checks"]
        return {one["what"]: one for one in said}

    return check


def test_an_address_of_another_machine_is_a_problem(place, pages):
    said = pages(PROXY, listen="192.0.2.1:8443")["pages"]["problem"]

    assert "is not an address of this machine" in said


def test_a_login_by_tokens_that_nobody_has_is_worth_a_look(place, pages):
    before = pages()["login of pages"]
    place.run("users", "add", "ada")
    after = pages()["login of pages"]

    assert "nobody can sign in yet; run: pr-monitor users add" in before["concerns"][0]
    assert (after["found"], after["concerns"]) == ("1 user", [])


@pytest.mark.parametrize(
    ("role", "look"),
    [
        (None, "cannot sign in and cannot open the page of conflicts; run: pr-monitor users add "),
        (
            "labeler",
            "is labeler and cannot open the page of conflicts; run: pr-monitor users role ",
        ),
    ],
)
def test_an_adjudicator_who_cannot_decide_is_worth_a_look(place, pages, role, look):
    place.run("users", "add", "ada")
    if role is not None:
        place.run("users", "add", "bob", "--role", role)

    [found] = pages(labeling=JUDGED)["login of pages"]["concerns"]

    assert found.startswith("labeling.adjudicator of mail is bob, ")
    assert look in found
