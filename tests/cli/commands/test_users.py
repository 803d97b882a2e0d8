"""`pr-monitor users`: who may use the pages by a token of their own."""

import pytest
from argon2 import PasswordHasher

from monitor.storage.pages import accounts


@pytest.fixture(autouse=True)
def _hashes_cost_little(monkeypatch):
    monkeypatch.setattr(
        accounts, "_HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    )


def test_a_user_is_added_with_a_token_that_is_shown_once(place):
    added = place.run("users", "add", "Ada")

    [first, token] = added.out.splitlines()
    [(name, token_hash, role)] = place.query("select name, token_hash, role from page_users")
    assert first == "Ada can sign in as labeler, with this token, which is not shown again:"
    assert (name, role) == ("Ada", "labeler")
    assert accounts._HASHER.verify(token_hash, token)
    assert token.encode() not in (place.folder / "monitor.db").read_bytes()
    assert token not in place.run("users", "list").out


def test_users_are_listed_with_their_roles_which_another_command_changes(place):
    before = place.run("users", "list")
    place.run("users", "add", "bob", "--role", "viewer")
    place.run("users", "add", "ada")
    changed = place.run("users", "role", "ada", "admin")
    after = place.run("users", "list")

    assert "nobody was added; do it with: pr-monitor users add NAME" in before.out
    assert changed.out == "ada is admin now\n"
    [head, _, *rows] = [line.split()[:2] for line in after.out.splitlines()]
    assert head == ["name", "role"]
    assert rows == [["ada", "admin"], ["bob", "viewer"]]
    listed = place.as_json("users", "list")["users"]
    assert [user["name"] for user in listed] == ["ada", "bob"]


@pytest.mark.parametrize(("there", "new"), [("ada", "Ada"), ("weiss", "Weiß"), ("Ⅳan", "ivan")])
def test_a_name_that_people_would_take_for_another_is_refused(place, there, new):
    place.run("users", "add", there)

    refused = place.run("users", "add", new, "--role", "admin")

    assert refused.code == 65
    assert "already, and people would take" in refused.err
    assert "differ in capitals, or in the form of a letter, alone" in refused.err
    assert len(place.query("select * from page_users")) == 1
    assert place.run("users", "add", "adam").code == 0


@pytest.mark.parametrize(
    "words", [("role", "eve", "admin"), ("remove", "eve")], ids=["role", "remove"]
)
def test_who_is_not_there_is_told_with_the_way_to_the_names(place, words):
    place.run("users", "add", "ada")

    ended = place.run("users", *words)

    assert ended.code == 65
    assert "there is no user eve; pr-monitor users list has all names" in ended.err


def test_removing_and_signing_out_end_the_sessions_of_that_name_alone(place):
    for name in ("ada", "bob"):
        place.run("users", "add", name)
    sessions = "insert into page_sessions values ('{0}{1}', '{0}', '2100-01-01', '{1}')"
    for name, login in (("ada", "users"), ("bob", "users"), ("cleo", "users")):
        place.query(sessions.format(name, login))

    removed = place.run("users", "remove", "ada")
    out = place.run("users", "sign-out", "cleo")

    assert removed.out == "ada can no longer sign in; their answers are kept\n"
    assert out.out == "1 session of cleo ended\n"
    assert place.query("select annotator from page_sessions") == [("bob",)]
    assert place.query("select name from page_users") == [("bob",)]


@pytest.mark.parametrize("name", ["", " ", "a\u202eb", "a" * 101])
def test_a_name_that_cannot_be_kept_is_wrong_usage(place, name):
    ended = place.run("users", "add", name)

    assert ended.code == 2
    assert "NAME" in ended.err
