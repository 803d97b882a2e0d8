"""Who comes in by a name and a password, and how long that holds."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import structlog
from argon2 import PasswordHasher

from monitor.service.pages import sign_in
from monitor.service.pages.sign_in import (
    FREE_FOR_A_NAME,
    FREE_FOR_AN_ADDRESS,
    LONGEST,
    SignInAttempts,
    attempt_of,
)
from monitor.storage.pages import accounts, people_store
from tests.service.pages.people import place_of
from tests.service.pages.site import HTTPS, NAME, Site, problem

COOKIE = "__Host-pr_monitor_8443"
SECOND = timedelta(seconds=1)


@pytest.fixture
def site(database):
    return Site(database)


@pytest.fixture(autouse=True)
def _hashes_cost_little(monkeypatch):
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(accounts, "_HASHER", cheap)
    accounts._nobodys.cache_clear()
    yield
    accounts._nobodys.cache_clear()


def fail(site, name="ada", **more):
    return site.sign_in(name, "wrong", **more)[1]


def test_who_is_not_signed_in_is_led_to_where_one_signs_in_and_a_script_is_told(site):
    page = site.client().get("/label?task=t0")
    script = site.client().get("/label/next", headers={"accept": "application/json"})

    assert str(page.url) == f"{HTTPS}/sign-in"
    assert script.status_code == 401
    assert "Sign in in this tab: answers that wait in it are kept" in script.json()["message"]


def test_a_wrong_name_and_a_wrong_token_get_the_same_answer_after_the_same_work(site, monkeypatch):
    site.add("ada")
    compared = []
    verify = PasswordHasher.verify

    def seen(self, token_hash, token):
        compared.append(token_hash.rpartition("$")[0].rpartition("$")[0])
        return verify(self, token_hash, token)

    monkeypatch.setattr(PasswordHasher, "verify", seen)

    answers = [fail(site, name) for name in ("ada", "eve", "a\u202eb", "")]

    texts = {re.sub(r'value="[^"]*"', "", answer.text) for answer in answers}
    assert [answer.status_code for answer in answers] == [401] * 4
    assert len(texts) == 1
    assert "This name and this token do not match." in problem(answers[0])
    assert len(compared) == 4
    assert len(set(compared)) == 1, "the same algorithm at the same cost"


HOSTILE = [
    *("ada:b", "a\x00da", "ada\u202e", "ada\u200b", "'; drop table page_users; --", "\ud83d"),
    *("../../etc/passwd", "<script>alert(1)</script>", "a" * 1000, "${jndi:ldap://x}"),
]


def test_a_hostile_name_is_a_wrong_name_and_stays_text(site):
    site.add("ada")
    kind = {"content-type": "application/x-www-form-urlencoded"}

    for place, name in enumerate(HOSTILE):
        content = f"name={name}&password=x".encode(errors="replace")
        client = site.client(address=f"203.0.113.{place}")
        answer = client.post("/sign-in", content=content, headers=kind)

        assert answer.status_code == 401, name
        assert "<script>" not in answer.text
    assert site.rows("page_sessions") == []
    assert len(site.rows("page_users")) == 1


# Guessing


def test_after_five_failures_a_name_has_to_wait_longer_each_time(site):
    codes = [fail(site).status_code for _ in range(FREE_FOR_A_NAME)]
    waits = []
    for _ in range(12):
        refused = fail(site)
        waits.append(int(refused.headers["retry-after"]))
        site.now += timedelta(seconds=waits[-1])
        codes.append(fail(site).status_code)

    assert codes == [401] * (FREE_FOR_A_NAME + 12)
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    refused = fail(site)
    assert refused.status_code == 429
    assert "Too many sign-ins failed. Try again in 5 minutes." in problem(refused)


def test_the_right_token_waits_as_well_and_then_ends_the_waiting(site):
    token = site.add("ada")
    for _ in range(FREE_FOR_A_NAME):
        fail(site)

    early = site.sign_in("ada", token)[1].status_code
    site.now += SECOND
    late = site.sign_in("ada", token)[1].status_code
    after = [fail(site).status_code for _ in range(FREE_FOR_A_NAME)]

    assert (early, late) == (429, 200)
    assert after == [401] * FREE_FOR_A_NAME, "what failed before was forgotten"


def test_a_name_waits_wherever_it_is_tried_from_and_however_it_is_spelled(site):
    for number, name in enumerate(["ada", "ADA", " ada", "\uff41da", "Ada"]):
        fail(site, name, address=f"203.0.113.{number}")

    assert fail(site, "ada", address="198.51.100.7").status_code == 429
    assert fail(site, "bob", address="198.51.100.7").status_code == 401


def test_an_address_waits_whatever_names_it_tries(site):
    token = site.add("ada")
    for number in range(FREE_FOR_AN_ADDRESS):
        fail(site, f"name {number}", address="203.0.113.9")

    guesser = fail(site, "another", address="203.0.113.9")
    _, elsewhere = site.sign_in("ada", token, address="203.0.113.10")

    assert guesser.status_code == 429
    assert elsewhere.status_code == 200


def test_an_account_of_ones_own_does_not_make_an_address_new(site):
    token = site.add("eve")
    for number in range(FREE_FOR_AN_ADDRESS):
        fail(site, f"name {number}")
        if number % 4 == 0:
            assert site.sign_in("eve", token)[1].status_code == 200

    assert fail(site, "another").status_code == 429


def test_addresses_of_ipv6_are_counted_by_what_one_person_has():
    one = attempt_of("ada", "2001:db8:1:2::1").address

    assert attempt_of("ada", "2001:db8:1:2:ffff::9").address == one
    assert attempt_of("ada", "2001:db8:1:3::1").address != one
    assert attempt_of("ada", "::ffff:203.0.113.9") == attempt_of("ada", "203.0.113.9")


def test_a_restart_and_another_replica_go_on_counting(site):
    for _ in range(FREE_FOR_A_NAME):
        fail(site)  # each by an application of its own

    assert fail(site).status_code == 429
    assert {row["failures"] for row in site.rows("page_attempts")} == {FREE_FOR_A_NAME}
    assert "ada" not in str(site.rows("page_attempts"))


def test_many_guesses_at_a_time_get_no_further_than_one_after_the_other(site):
    attempts = SignInAttempts(site.database, lambda: site.now)

    with ThreadPoolExecutor(12) as pool:
        waits = list(pool.map(lambda _: attempts.begin(attempt_of("ada", "::1")), range(24)))

    assert waits.count(timedelta(0)) == FREE_FOR_A_NAME


def test_failures_are_forgotten_after_a_day_and_a_clock_set_back_makes_no_longer_wait(site):
    for _ in range(FREE_FOR_A_NAME):
        fail(site)
    site.now -= timedelta(days=400)
    back = fail(site)
    site.now += timedelta(days=400) + people_store.FORGOTTEN_AFTER

    assert int(back.headers["retry-after"]) <= LONGEST.total_seconds()
    assert fail(site).status_code == 401
    assert {row["failures"] for row in site.rows("page_attempts")} == {1}


def test_passwords_are_looked_at_a_few_at_a_time_and_nobody_waits_in_line(site, monkeypatch):
    token = site.add("ada")
    monkeypatch.setattr(sign_in, "MOST_AT_ONCE", 1)
    application = site.application()
    way_in = application._app.state.way_in

    with way_in._room:
        client = site.client()
        client._asking._transport.app = application
        answer = client.post("/sign-in", data={"name": "ada", "password": token})

    assert answer.status_code == 503
    assert "Many people are signing in" in problem(answer)
    assert site.rows("page_attempts") == []


# Sessions


def test_the_cookie_is_for_https_and_this_host_alone_and_out_of_reach(site):
    client = site.client()
    client._asking.follow_redirects = False

    answer = client.post("/sign-in", data={"name": "ada", "password": site.add("ada")})

    name, _, marks = answer.headers["set-cookie"].partition("=")
    token, *marks = [mark.strip().lower() for mark in marks.split(";")]
    assert name == COOKIE
    assert {"secure", "httponly", "samesite=strict", "path=/"} <= set(marks)
    assert not any(mark.startswith("domain") for mark in marks)
    assert len(token) >= 43
    assert token not in str(site.rows("page_sessions")).lower()
    assert site.rows("page_users")[0]["token_hash"].startswith("$argon2id$")


def test_a_cookie_that_was_planted_before_signing_in_is_worth_nothing_after(site):
    token = site.add("ada")
    planted = "p" * 43
    client = site.client(cookies={COOKIE: planted})

    client.post("/sign-in", data={"name": "ada", "password": token})

    assert site.client(cookies={COOKIE: planted}).get("/label").url.path == "/sign-in"
    assert client.get("/label").url.path == "/label"
    assert [row["annotator"] for row in site.rows("page_sessions")] == ["ada"]


def test_signing_in_again_ends_the_session_before(site):
    token = site.add("ada")
    client, _ = site.sign_in("ada", token)
    before = dict(client.cookies)

    client.post("/sign-in", data={"name": "ada", "password": token})

    assert site.client(cookies=before).get("/label").url.path == "/sign-in"
    assert len(site.rows("page_sessions")) == 1


def test_leaving_ends_the_session_in_every_browser_and_nobody_elses(site):
    token = site.add("ada")
    one, page = site.sign_in("ada", token)
    other, _ = site.sign_in("ada", token)
    bob = site.signed_in("bob")
    form_token = re.findall(r'name="form_token" value="(\w+)"', page.text)[0]

    left = one.post("/leave", data={"form_token": form_token})

    assert "You are signed out" in left.text
    assert 'href="/sign-in"' in left.text
    assert other.get("/label").url.path == "/sign-in"
    assert bob.get("/label").url.path == "/label"


def test_who_was_removed_loses_the_page_at_once_and_another_of_that_name_does_not_bring_it_back(
    site,
):
    ada = site.signed_in("ada")
    with site.database.write() as connection:
        people_store.remove_user(connection, "ada")

    removed = ada.get("/label").url.path
    with site.database.write() as connection:
        people_store.end_all_sessions(connection, "ada")  # as the command does
    site.add("ada")

    assert removed == "/sign-in"
    assert ada.get("/label").url.path == "/sign-in"


def test_another_role_acts_from_the_next_request_on(site):
    ada = site.signed_in("ada")
    codes = [ada.get("/label").status_code]
    for role in ("viewer", "admin"):
        with site.database.write() as connection:
            people_store.give_role(connection, "ada", role)
        codes.append(ada.get("/label").status_code)

    assert codes == [200, 403, 200]


def test_a_session_of_a_link_is_worth_nothing_where_names_are_asked_for_nor_the_reverse(
    database, place
):
    site = Site(database, now=place.scene.now)
    site.add("ada", "admin")
    [of_link] = dict(place.person("ada").client.cookies).values()
    [of_password] = dict(site.signed_in("bob").cookies).values()

    assert site.client(cookies={COOKIE: of_link}).get("/label").url.path == "/sign-in"
    assert place.client(cookies={"pr_monitor_8089": of_password}).get("/label").status_code == 401


def test_who_may_label_lands_on_the_labeling_page_while_a_round_takes_answers(database, tmp_path):
    site = Site(database)

    def landing(role):
        name = f"{role} {len(site.rows('page_users'))}"
        return site.sign_in(name, site.add(name, role))[1].url.path

    without = landing("admin")
    site.now = place_of(database, tmp_path).scene.now

    assert without == "/"
    found = {role: landing(role) for role in ("labeler", "viewer", "admin")}
    assert found == {"labeler": "/label", "viewer": "/", "admin": "/label"}


def test_there_is_one_way_in(site, place):
    by_link = place.client()

    assert site.client().get("/enter?key=x").status_code == 404
    assert site.client().post("/enter", data={"key": "x", "name": "ada"}).status_code == 404
    assert by_link.get("/sign-in").status_code == 404


# Requests


def test_nobody_is_signed_in_by_a_form_of_another_page(site):
    data = {"name": "ada", "password": site.add("ada")}
    strangers = [*("https://evil.test", f"http://{NAME}:8443", f"https://{NAME}", "null")]

    for headers in [{"sec-fetch-site": "cross-site"}, *({"origin": of} for of in strangers)]:
        answer = site.client().post("/sign-in", data=data, headers=headers)

        assert answer.status_code == 403, headers
    assert site.rows("page_sessions") == []
    ours = {"origin": HTTPS, "sec-fetch-site": "same-origin"}
    assert site.client().post("/sign-in", data=data, headers=ours).status_code == 200


def test_pages_for_other_machines_answer_under_their_names_only(site):
    for host in ("10.0.0.1:8443", "localhost:8443", "127.0.0.1", "evil.test", ""):
        answer = site.client().get("/sign-in", headers={"host": host})

        assert answer.status_code == 421
        assert "one of pages.names in the config" in answer.text
    assert site.client().get("/sign-in", headers={"host": NAME.upper()}).status_code == 200


def test_behind_a_proxy_the_last_address_counts_which_nobody_but_the_proxy_writes(site):
    def failing(forwarded):
        said = {"x-forwarded-for": forwarded, "x-forwarded-proto": "https"}
        data = {"name": f"name {forwarded}", "password": "x"}
        return site.client().post("/sign-in", data=data, headers=said).status_code

    codes = [failing(f"198.51.100.{n}, 203.0.113.9") for n in range(FREE_FOR_AN_ADDRESS)]

    assert codes == [401] * FREE_FOR_AN_ADDRESS
    assert failing("203.0.113.9") == 429
    assert failing("203.0.113.10") == 401


def test_behind_a_proxy_a_request_that_came_without_encryption_is_refused(site):
    client = site.client(headers={})

    plain = client.get("/sign-in", headers={"x-forwarded-proto": "http"})
    unsaid = client.get("/sign-in")
    encrypted = client.get("/sign-in", headers={"x-forwarded-proto": "https"})
    led_on = client.get("/sign-in/", headers={"x-forwarded-proto": "https"})
    said = [("x-forwarded-proto", "https"), ("x-forwarded-proto", "http")]
    appended = client.get("/sign-in", headers=said)

    assert [plain.status_code, unsaid.status_code, encrypted.status_code] == [421, 421, 200]
    assert "X-Forwarded-Proto: https" in plain.text
    assert (led_on.status_code, led_on.history) == (404, []), "no address leads to http"
    assert appended.status_code == 421, "the proxy writes behind what the client said"


def test_no_log_and_no_page_repeats_what_was_typed_in_vain(site):
    with structlog.testing.capture_logs() as lines:
        _, answer = site.sign_in("my-password-by-mistake", "correct horse")

    assert "correct horse" not in answer.text
    assert "correct horse" not in str(lines)
    assert "my-password-by-mistake" not in str(lines)
    [line] = lines
    assert (line["event"], line["address"]) == ("sign-in refused", "127.0.0.1")


def test_the_log_has_who_signed_in_and_from_where(site):
    token = site.add("Ada Lovelace")

    with structlog.testing.capture_logs() as lines:
        _, answer = site.sign_in(" Ada  Lovelace ", f" {token}\n", address="203.0.113.9")

    assert str(answer.url) == f"{HTTPS}/label"
    assert "Labeling as <bdi>Ada Lovelace</bdi>" in answer.text
    [line] = [line for line in lines if line["event"] == "signed in"]
    assert (line["user"], line["address"]) == ("Ada Lovelace", "203.0.113.9")
    assert token not in str(lines)
