"""Who may do what on the labeling page, and what nobody sees there."""

import re
from urllib.parse import urlencode

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy import event

from monitor.domain.errors import StoreUnavailable
from monitor.service.pages.guard import HEADERS, MOST_BYTES
from monitor.service.pages.sessions import SESSION
from tests.service.pages.people import (
    BASE,
    PORT,
    Person,
    Reader,
    place_of,
    put_on_screen,
    sent_to,
)

FORMS = ("/label/answer", "/label/undo", "/label/mine", "/label/conflicts", "/leave")


# Coming in


def test_nothing_is_shown_to_who_did_not_come_by_a_link(place):
    for path in ("/label", "/label/next", "/label?task=t0"):
        answer = place.client().get(path)

        assert answer.status_code == 401
        assert "item " not in answer.text
        assert "pr-monitor shows a link: open it" in answer.text


def test_a_link_works_once_and_another_is_made_for_the_next_person(place):
    key = place.links.key
    looked_at = place.client().get(f"/enter?key={key}")
    place.person("ada")

    again = place.client().get(f"/enter?key={key}")
    used = place.client().post("/enter", data={"key": key, "name": "mallory"})
    bob = place.person("bob")

    assert [looked_at.status_code, again.status_code, used.status_code] == [200, 403, 403]
    assert bob.response.status_code == 200
    assert place.entered == ["ada", "bob"]


def test_no_other_link_works(place):
    for key in ("", "guess", "\u00e4\u4e2d"):
        got = place.client().get("/enter", params={"key": key})
        sent = place.client().post("/enter", data={"key": key, "name": "mallory"})

        assert [got.status_code, sent.status_code] == [403, 403]
    assert place.scene.rows("select * from page_sessions") == []


def test_a_name_that_cannot_be_kept_is_refused_and_the_link_still_works(place):
    person = Person(place.client()).get(f"/enter?key={place.links.key}")
    unseen = [*("ada\u202e", "ada\x00", "\u3164", "\u2800", "ada\ufe00", "ada\u034f", "\u115f")]
    refused = {"": "Write a name", " \t ": "Write a name", "a" * 101: "up to 100 characters"}
    refused |= dict.fromkeys(unseen, "letters, digits and signs that show")

    for name, said in refused.items():
        person.post("/enter", name=name)

        assert person.response.status_code == 422, name
        assert said in person.page.text
    assert person.post("/enter", name=" Ada  Lovelace ").response.status_code == 200
    assert "Labeling as Ada Lovelace" in person.page.text


def test_a_visit_ends_after_a_day_of_work(place, ada):
    place.scene.now += SESSION

    assert ada.get().response.status_code == 401


def test_who_leaves_has_left_also_with_a_kept_cookie(place, ada):
    kept = dict(ada.client.cookies)

    ada.post("/leave")

    assert "You are signed out" in ada.page.text
    assert place.client(cookies=kept).get("/label").status_code == 401


# What is sent


def test_a_form_needs_the_token_of_its_visit(place, ada):
    form = {**ada.page.forms["/label/answer"], "answer": "1"}
    others = place.person("bob").form_token

    codes = [
        ada.client.post(path, data={**form, "form_token": token}).status_code
        for path in FORMS
        for token in ("", others, "x" * 64)
    ]

    assert codes == [403] * 3 * len(FORMS)
    assert place.said == []
    assert ada.get().response.status_code == 200, "nobody has left"


def test_a_form_of_another_page_is_refused(place, ada):
    form = {**ada.page.forms["/label/answer"], "answer": "1"}
    strangers = [("origin", of) for of in ("http://evil.test", "null", "http://127.0.0.1:5000")]
    strangers += [("sec-fetch-site", site) for site in ("cross-site", "same-site")]

    for header in strangers:
        answer = ada.client.post("/label/answer", data=form, headers=dict([header]))

        assert answer.status_code == 403, header
    assert place.said == []
    assert ada.client.post("/label/answer", data=form, headers={"origin": BASE}).status_code == 200


def test_the_page_answers_under_names_of_this_machine_only(ada):
    for host in ("evil.test", "evil.test:8089", "127.0.0.1.evil.test", "10.0.0.1"):
        assert ada.client.get("/label", headers={"host": host}).status_code == 421
    assert ada.client.get("/label", headers={"host": "localhost:8089"}).status_code == 200


def test_only_open_tasks_of_monitors_that_are_served_take_answers(place):
    ada = place.person("ada")
    form = {**ada.page.forms["/label/answer"], "answer": "1"}
    place.scene.name = "another monitor"  # that of the page; the round stays mail's

    codes = [
        ada.client.post("/label/answer", data={**form, "task": task}).status_code
        for task in (form["task"], "t" + "0" * 16, "", "'; drop table page_answers; --")
    ]

    assert codes == [404] * 4
    assert place.said == []
    assert "This item needs no answer here" in ada.client.post("/label/answer", data=form).text
    assert "Nothing left to label" in ada.get().page.text


def test_the_other_copy_of_an_item_is_not_for_the_same_person(database, tmp_path):
    place = place_of(database, tmp_path, overlap=1.0)
    ada = place.person("ada")
    copies = place.scene.rows("select * from tasks")
    [item] = [row["item_id"] for row in copies if row["key"] == ada.task]
    [other] = [r["key"] for r in copies if r["item_id"] == item and r["key"] != ada.task]
    form = {**ada.page.forms["/label/answer"], "answer": "1"}
    ada.answer("1")

    answer = ada.client.post("/label/answer", data={**form, "task": other})

    assert answer.status_code == 409
    assert "needs a second person" in answer.text
    assert len(place.said) == 1


def test_no_other_answer_revision_or_form_is_taken(place, ada):
    for answer in ("", "2", "yes", "1 ", "CANNOT TELL", "\x00", "class 0"):
        ada.get().answer(answer)

        assert ada.response.status_code == 400
        assert "This answer is not offered for this item" in ada.page.text
    for revision in ("", "-1", "1.5", "x", "9" * 30, "\u0661"):
        ada.get().post("/label/answer", answer="1", revision=revision)

        assert ada.response.status_code in {400, 409}
    form = {**ada.get().page.forms["/label/answer"], "answer": "1", "task": "t\x00"}
    for body in (b"\xff\xfe", b"&".join(b"a%d=1" % n for n in range(20)), b"{}"):
        assert ada.client.post("/label/answer", content=body).status_code in {400, 403}
    assert ada.client.post("/label/answer", data=form).status_code == 400, "no store looks for it"
    assert place.said == []


def test_what_is_too_long_is_refused_however_it_is_sent(place, ada):
    form = {**ada.page.forms["/label/answer"], "answer": "1"}

    async def pieces():
        read.append(1)
        for _ in range(1000):
            yield b"x" * 1000
            read.append(1000)

    long = ada.client.post("/label/answer", data={**form, "more": "x" * MOST_BYTES})
    read: list[int] = []
    endless = ada.client.post("/label/answer", content=pieces())

    assert [long.status_code, endless.status_code] == [413, 413]
    assert sum(read) < 10_000, "no more is read than shows that it is too long"
    assert place.said == []


def test_half_a_form_of_who_has_gone_is_no_form(place, ada):
    form = {**ada.page.forms["/label/answer"], "answer": "1"}
    whole = {"type": "http.request", "body": urlencode(form).encode(), "more_body": True}
    messages = [whole, {"type": "http.disconnect"}]
    cookie = "; ".join(f"{name}={value}" for name, value in ada.client.cookies.items())

    async def receive():
        return messages.pop(0)

    host = f"127.0.0.1:{PORT}"
    sent = sent_to(place.application(), receive, "/label/answer", host=host, cookie=cookie)

    assert (sent, place.said) == ([], [])


# What is seen


def test_every_answer_carries_the_headers_that_keep_strangers_texts_in_their_place(place, ada):
    client = ada.client
    answers = [
        client.get("/label"),
        client.get("/label/next"),
        client.get("/static/page.js"),
        client.get("/static/page.css"),
        client.get("/nowhere"),
        client.get("/static/nowhere"),
        client.post("/label/answer", data={}),
        client.get("/label", headers={"host": "evil.test"}),
        place.client().get("/label"),
        place.client().get(f"/enter?key={place.links.key}"),
    ]

    missing = [
        (str(answer.url), name)
        for answer in answers
        for name, value in HEADERS.items()
        if answer.headers.get_list(name) != [value]
    ]

    assert missing == []
    assert "default-src 'none'" in HEADERS["content-security-policy"]
    assert "unsafe" not in HEADERS["content-security-policy"]
    assert HEADERS["cache-control"] == "no-store"


def test_no_page_has_a_script_or_a_style_of_its_own(place, ada):
    done = [place.person("bob").response.text, ada.response.text, ada.get("/nowhere").response.text]
    ada.get()
    while ada.task is not None:
        ada.answer("1")
    done.append(ada.response.text)

    for html in done:
        assert re.findall(r"<script(?![^>]* src=\"/static/)", html) == []
        assert re.findall(r"<style|\sstyle=|\son[a-z]+=|javascript:", html) == []
        assert re.findall(r"(?:src|href|action)=\"(?!/)", html) == []


def test_there_is_nothing_else_to_see(ada):
    for path in ("/docs", "/redoc", "/openapi.json", "/static/../app.py", "/label/answer"):
        answer = ada.client.get(path)

        assert answer.status_code in {404, 405}
        assert answer.text.count("There is no such page here.") == 1


def test_page_source_and_requests_are_the_same_whatever_was_predicted(place, ada):
    def seen():
        answers = [ada.client.get(f"/label{page}") for page in ("", "/next", "/mine")]
        return [(answer.text, sorted(answer.headers.items())) for answer in answers]

    ada.answer("1")
    before = seen()
    flags = "case when predicted then false else true end"
    place.scene.execute(
        f"update items set score = 1 - score, predicted = {flags}",
        "update items set challenged = predicted",
        "update strata set size = size + 7, low = 0.25, high = 0.75",
    )
    after = seen()

    assert before == after
    ids = {row["id"] for row in place.scene.rows("select id from items")}
    words = ("flagged", "passed", "score", "stratum", "predicted", *ids)
    assert [word for word in words if word in str(before)] == []


def test_the_page_asks_the_store_for_nothing_that_tells_what_was_predicted(place):
    asked: list[str] = []
    event.listen(
        place.scene.database.engine,
        "before_cursor_execute",
        lambda *given: asked.append(given[2].lower()),
    )

    ada = place.person("ada")
    ada.answer("1").post("/label/undo")
    ada.client.get("/label/next")

    tables = set(re.findall(r"(?:from|join|update|into) \"?(\w+)", "; ".join(asked)))
    assert "page_tasks" in tables
    assert tables <= {"page_rounds", "page_tasks", "page_answers", "page_sessions", "rounds"} | {
        "monitors",
        "page_shares",  # which rounds ask for an item, and of which class; test_by_class.py
        "planned_margins",  # of the whole round, from before any answer
        "json_each",
        "json_array_elements_text",
    }


def test_texts_of_strangers_are_texts(place):
    ada = place.person("<img src=x onerror=alert(1)>")
    hostile = "</div><script>alert(1)</script><img src=x onerror=alert(1)>\u202egnp\x1b[31m"
    put_on_screen(place, ada.task, {"subject <b>\udfff": f"{hostile} \ud800"})

    script = ada.client.get("/label/next").text
    ada.get()

    for half in ("\\udfff", "\\ud800"):
        assert (half in script, half in ada.page.text) == (True, True)
    assert "Labeling as <img" in ada.page.text
    assert "</div><script>alert(1)" in ada.page.text
    assert "\\u202egnp\\x1b[31m" in ada.page.text
    assert [tag for tag, _ in ada.page.elements if tag in {"img", "b"}] == []
    assert [named["src"] for tag, named in ada.page.elements if tag == "script"] == [
        "/static/parts.js",
        "/static/choices.js",
        "/static/page.js",
    ]


def test_a_store_that_is_away_is_said_in_a_sentence(place, ada, monkeypatch):
    def away():
        message = "the store sqlite:///secret-path cannot be used now"
        raise StoreUnavailable(message)

    monkeypatch.setattr(place.scene.database, "read", away)

    page = ada.client.get("/label")
    script = ada.client.get("/label/next", headers={"accept": "application/json"})

    assert [page.status_code, script.status_code] == [503, 503]
    assert "Nothing was lost; try again in a moment." in page.text
    assert "secret-path" not in page.text + script.text


def test_no_telemetry_of_the_process_learns_what_is_asked(place, monkeypatch):
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)

    place.person("ada").answer("1")

    assert spans.get_finished_spans() == ()


# Roles

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


def test_a_sentence_leads_to_the_pages_of_the_role_and_who_has_left_to_none(place, ada, as_role):
    for role, leads_to in (("labeler", ["/label"]), ("viewer", ["/"]), ("admin", ["/label", "/"])):
        as_role(role)

        answer = ada.client.post("/leave", data={"form_token": "of another visit"})

        assert answer.status_code == 403
        assert links(answer) == leads_to
    left = ada.client.post("/leave", data={"form_token": ada.form_token})
    assert links(left) == links(place.client().get("/enter?key=x")) == []


def links(answer):
    return [named["href"] for tag, named in Reader(answer.text).elements if tag == "a"]
