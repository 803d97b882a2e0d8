"""What MLflow and hooks have not taken: listed, tried again, given up; hooks tested."""

import json

import pytest
from standardwebhooks import Webhook

from monitor.domain.ports import utc_now
from tests.hooks.receivers import TOKEN, Receiver

SECRET = "a secret of twenty-four bytes"  # noqa: S105  made up


def kill(place):
    """Declare the first effect that waits, one of MLflow's, dead."""
    place.query(
        "update effects set status = 'dead', tries = 7, last_error = 'it is gone'"
        " where id = (select min(id) from effects where status = 'waiting')"
    )


def put_off(place):
    """Let all that waits be tried in an hour."""
    place.query("update effects set next_try = datetime(?, '+1 hour')", place.now.isoformat())


def listed(place, *words):
    return place.as_json("effects", *words)["effects"]


def test_effects_are_listed_with_what_waits_for_whom_since_when_and_why_and_all_as_json(filled):
    done = filled.run("effects")

    head, _, first, second = done.out.splitlines()[:4]
    assert head.split() == [
        *("id", "monitor", "sink", "kind", "round", "status", "since", "tries", "next", "why")
    ]
    assert first.split()[1:6] == ["mail", "mlflow", "round_run", "1", "waiting"]
    assert "MLflow at http://127.0.0.1:9 does not answer" in first
    assert second.endswith("queued behind another")
    assert done.code == 0
    first, second = listed(filled)[:2]
    assert (first["sink"], first["tries"], first["first"]) == ("mlflow", 1, True)
    assert (second["tries"], second["first"], second["last_error"]) == (0, False, None)


def test_a_dead_delivery_that_a_pass_did_not_try_is_in_what_it_says_and_in_status_and_list(filled):
    kill(filled)
    status = filled.run("status")
    [first, *_] = listed(filled)
    put_off(filled)

    done = filled.run("run-once")
    told = filled.run("run-once", "--json")

    assert (done.code, told.code) == (75, 75)
    [line] = [line for line in done.lines if line.startswith("not delivered: ")]
    assert line.startswith("not delivered: mail: 8 rounds wait for MLflow since ")
    assert line.endswith(": it is gone")
    assert [load["sink"] for load in json.loads(told.out)["dead"]] == ["mlflow"]
    [line] = [line for line in status.out.splitlines() if ", failed " in line]
    assert line.startswith("  problem: 8 rounds wait for MLflow since ")
    assert ", failed 7 times, next try " in line
    assert line.endswith("pr-monitor effects retry --sink mlflow")
    assert (first["status"], first["last_error"]) == ("dead", "it is gone")


@pytest.mark.parametrize("which", ["id", "sink", "all"])
def test_retry_revives_what_is_named(filled, which):
    kill(filled)
    before = listed(filled)
    words = {"id": [before[0]["id"]], "sink": ["--sink", "mlflow"], "all": ["--all"]}[which]

    revived = filled.as_json("effects", "retry", *words)["revived"]

    assert revived == ([before[0]["id"]] if which == "id" else [each["id"] for each in before])
    [first, *_] = listed(filled)
    assert (first["status"], first["tries"]) == ("waiting", 0)
    assert first["next_try"] <= utc_now().isoformat()


def test_what_is_given_up_lets_the_next_be_first(filled):
    before = listed(filled)

    done = filled.run("effects", "drop", before[0]["id"], "--reason", "nobody needs it")

    [first, *_] = listed(filled)
    assert done.out == "1 effect given up: nobody needs it\n"
    assert (first["id"], first["first"]) == (before[1]["id"], True)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["retry"], 2, "name either an id, --sink or --all"),
        (["retry", "1", "--all"], 2, "name either an id, --sink or --all"),
        (["drop", "--reason", "x"], 2, "name either an id or --sink"),
        (["drop", "1"], 2, "--reason"),
        (["retry", "99999"], 65, "no open effect has the id 99999"),
        (["retry", "--sink", "ops"], 65, "nothing waits for 'ops'; sinks for which something"),
        (["--monitor", "post"], 78, "there is no monitor 'post'"),
    ],
)
def test_what_cannot_be_chosen_is_said(filled, words, code, said):
    done = filled.run("effects", *words)

    assert done.code == code
    assert said in done.err


HOOKS = """
hooks:
  ops: {kind: webhook, url: "${OPS}", secret: "${SECRET}", allow_private: true}
  page: {kind: command, command: [sh, -c, "cat > page.json"]}
  chat: {kind: apprise, url: "${CHAT}"}
  lines: {kind: log}
"""


@pytest.fixture
def hooked(storeless, monkeypatch):
    """A config with hooks of several kinds, and who gets what they send."""
    with Receiver() as ops, Receiver() as chat:
        monkeypatch.setenv("OPS", ops.url)
        monkeypatch.setenv("SECRET", SECRET)
        monkeypatch.setenv("CHAT", chat.url.replace("http", "json").partition("?")[0])
        with (storeless.folder / "config.yaml").open("a") as config:
            config.write(HOOKS)
        yield storeless, ops, chat


@pytest.mark.server
def test_a_test_goes_through_every_hook_and_says_that_it_is_one(hooked):
    place, ops, chat = hooked

    done = place.run_at(utc_now(), "alerts", "test")

    assert 'event="This is a test of hook lines' in done.err
    assert done.out.splitlines() == [
        "ok       hook ops (webhook): accepted the test (HTTP 204)",
        "ok       hook page (command): accepted the test (exit code 0)",
        "ok       hook chat (apprise): accepted the test (JSON)",
        done.out.splitlines()[3],
    ]
    assert done.out.splitlines()[3].startswith("ok       hook lines (log): accepted the test (msg_")
    [(_, headers, body)] = ops.got
    assert Webhook(SECRET.encode()).verify(body, headers)["type"] == "test"
    page = json.loads((place.folder / "page.json").read_text())
    sentence = (
        "This is a test of hook page, sent by pr-monitor alerts test. No metric passed a limit, "
        "and nobody has to do anything."
    )
    assert (page["event"], page["sentence"]) == ("test", sentence)
    assert json.loads(chat.got[0][2])["title"] == "TEST: test"
    assert done.code == 0
    assert not (place.folder / "monitor.db").exists()


@pytest.mark.server
def test_a_hook_that_does_not_take_its_test_is_named_with_the_reason(hooked, monkeypatch):
    place, *_ = hooked
    with Receiver(404) as gone:
        monkeypatch.setenv("OPS", gone.url)
        one = place.run("alerts", "test", "--hook", "ops")
        told = place.as_json("alerts", "test", "--hook", "ops")

    [line] = one.out.splitlines()
    assert line.startswith("PROBLEM  hook ops (webhook): hook ops: http://127.0.0.1:")
    assert "it answered 404, so nothing listens at that path any more" in line
    assert (one.code, told["hooks"][0]["code"], told["hooks"][0]["found"]) == (78, 78, "")
    assert TOKEN not in one.out + json.dumps(told)


@pytest.mark.server
def test_check_looks_at_programs_and_services_without_sending_anything(hooked, monkeypatch):
    place, ops, chat = hooked
    monkeypatch.setenv("CHAT", "nosuch://token")

    done = place.run("check")

    lines = [line for line in done.out.splitlines() if " hook " in f" {line}"]
    assert [word for line in lines for word in ("page", "chat") if word in line] == [
        *("page", "chat")
    ], done.out
    assert "does not know its url" in done.out + done.err
    assert (ops.got, chat.got) == ([], [])
