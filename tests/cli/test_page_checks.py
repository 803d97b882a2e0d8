"""What `pr-monitor check` says of the pages for people: address, certificate and login."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.certificates import write_certificate
from tests.servers import free_port

NOW = datetime.now(UTC)
TLS = "tls: {certificate: certificate.pem, key: key.pem}"
JUDGED = "{kind: page, question: Is it spam?, overlap: 0.5, adjudicator: bob}"


@pytest.fixture
def pages(place):
    """Let the pages be for other machines; returns what check says of them, by what it tried."""

    def check(*settings, listen=None, **labeling):
        more = "".join(f"  {line}\n" for line in settings)
        section = (
            f"pages:\n  listen: {listen or f'127.0.0.1:{free_port()}'}\n"
            "  names: [labels.example.org]\n"
            f"  login: {{kind: users}}\n{more}monitors:"
        )
        place.config(pages=("monitors:", section), **labeling)
        said = place.as_json("check")["checks"]
        return {one["what"]: one for one in said}

    return check


def test_a_certificate_that_is_right_is_told_with_its_end(place, pages):
    write_certificate(place.folder, names=["*.example.org"], until=NOW + timedelta(days=90))

    said = pages(TLS)

    until = f"{NOW + timedelta(days=90):%Y-%m-%d}"
    assert said["pages"]["problem"] is None
    assert f"certificate until {until}" in said["pages"]["found"]
    assert said["pages"]["looks"] == []


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        ({"until": NOW - timedelta(hours=1)}, "ended 20"),
        ({"since": NOW + timedelta(days=2)}, "begins 20"),
        ({"password": "secret"}, "has a password, which nobody can give a service"),
    ],
)
def test_a_certificate_that_no_browser_believes_is_a_problem(place, pages, made, problem):
    write_certificate(place.folder, **made)

    assert problem in pages(TLS)["pages"]["problem"]


def test_a_key_of_another_certificate_is_a_problem(place, pages):
    write_certificate(place.folder)
    other = (place.folder / "certificate.pem").read_bytes()
    write_certificate(place.folder)
    (place.folder / "certificate.pem").write_bytes(other)

    assert "is not that of the certificate" in pages(TLS)["pages"]["problem"]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [("certificate.pem", None, "cannot be read: no such file"), ("key.pem", b"no PEM", "in PEM")],
)
def test_files_that_are_none_are_a_problem(place, pages, name, content, problem):
    write_certificate(place.folder)
    (place.folder / name).unlink()
    if content is not None:
        (place.folder / name).write_bytes(content)

    assert problem in pages(TLS)["pages"]["problem"]


def test_what_is_about_to_go_wrong_is_worth_a_look(place, pages):
    write_certificate(place.folder, names=["other.example.org"], until=NOW + timedelta(days=9))
    (place.folder / "key.pem").chmod(0o644)

    [ends, strange, readable] = pages(TLS)["pages"]["looks"]

    assert f"ends {NOW + timedelta(days=9):%Y-%m-%d}; renew it and restart serve" in ends
    assert "is not for labels.example.org, so browsers warn of it" in strange
    assert "every user of this machine may read the key" in readable


def test_an_address_of_another_machine_is_a_problem(place, pages):
    write_certificate(place.folder)

    assert (
        "is no address of this machine" in pages(TLS, listen="192.0.2.1:8443")["pages"]["problem"]
    )


def test_a_login_by_tokens_that_nobody_has_is_worth_a_look(place, pages):
    before = pages()["login of pages"]
    place.run("users", "add", "ada")
    after = pages()["login of pages"]

    assert "nobody can sign in yet; run: pr-monitor users add" in before["looks"][0]
    assert (after["found"], after["looks"]) == ("1 user", [])


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

    [found] = pages(labeling=JUDGED)["login of pages"]["looks"]

    assert found.startswith("labeling.adjudicator of mail is bob, ")
    assert look in found
