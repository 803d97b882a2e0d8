import json

import pytest

NOTE = "threshold moved to 0.6"


@pytest.fixture
def alert(filled):
    [row] = filled.as_json("alerts")["alerts"]
    return row


def resolve(place, alert, *words):
    return place.run("alerts", "resolve", str(alert["fired_in_round"]), *words)


def texts_of(place):
    """All that the tables of the store hold, as texts."""
    names = place.query("select name from sqlite_master where type = 'table'")
    return str([place.query(f"select * from {name}") for (name,) in names])


def test_a_note_by_the_number_of_a_round_is_shown_wherever_the_alert_is(filled, alert):
    done = resolve(filled, alert, "--note", f" {NOTE}\n", "--by", "ada")

    assert done.lines == [f"noted on {alert['id'][:8]}: mail, recall at least 0.95"]
    [row] = filled.as_json("alerts")["alerts"]
    assert row["state"] == "firing"
    assert [(note["by"], note["text"]) for note in row["notes"]] == [("ada", NOTE)]
    filled.run("report", "--out", "round.html")
    shown = [
        filled.run("alerts").out,
        filled.run("status").out,
        filled.run("show", str(alert["fired_in_round"])).out,
        (filled.folder / "round.html").read_text(),
    ]
    assert [f" by ada: {NOTE}" in text for text in shown] == [True] * 4
    [told] = filled.as_json("show", str(alert["fired_in_round"]))["alerts"]
    assert told["notes"] == row["notes"]


def test_a_note_is_stored_once_and_another_one_comes_after_it(filled, alert):
    notes = [NOTE, NOTE, "retrained"]
    said = [resolve(filled, alert, "--note", note).out for note in notes]

    assert said[1].startswith("the note is already on ")
    [row] = filled.as_json("alerts")["alerts"]
    assert [note["text"] for note in row["notes"]] == [NOTE, "retrained"]


def test_an_alert_that_ended_takes_a_note_and_no_second_end(filled, alert):
    both = resolve(filled, alert, "--reason", "a new rule", "--note", NOTE, "--json")
    again = resolve(filled, alert, "--reason", "once more")
    later = resolve(filled, alert, "--note", "checked")

    printed = json.loads(both.out)
    assert (printed["resolved"], len(printed["notes"])) == (alert["id"], 1)
    assert (again.code, later.code) == (65, 0)
    assert "no open alert matches" in again.err
    [row] = filled.as_json("alerts")["alerts"]
    assert (row["state"], len(row["notes"])) == ("resolved", 2)


def test_deleted_notes_are_nowhere_in_the_store(filled, alert):
    resolve(filled, alert, "--note", "asked mallory about it")
    before = texts_of(filled)

    done = resolve(filled, alert, "--delete-notes", "--note", "asked the data team")

    assert before.count("mallory") == 1
    assert "1 note deleted from, noted on" in done.out
    assert "mallory" not in texts_of(filled)
    [row] = filled.as_json("alerts")["alerts"]
    assert [note["text"] for note in row["notes"]] == ["asked the data team"]


def test_a_secret_in_a_note_is_masked(filled, alert):
    resolve(filled, alert, "--note", "see https://ada:hunter2@host/x?token=xyzzy\x1b[31m")

    assert "hunter2" not in texts_of(filled)
    assert "xyzzy" not in texts_of(filled)
    assert "\x1b" not in filled.run("alerts").out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "nothing to do: --reason TEXT ends"),
        (["--note", " "], 2, "write a few words"),
        (["--note", "x" * 301], 2, "301 characters; 300 are enough"),
        (["--note", "\u200c" * 100], 2, "600 characters; 300 are enough"),  # as they are shown
    ],
)
def test_what_cannot_be_noted_is_refused(filled, alert, words, code, message):
    done = resolve(filled, alert, *words)

    assert done.code == code
    assert message in " ".join(done.err.split())
    assert filled.as_json("alerts")["alerts"] == [alert]


def test_an_unknown_round_is_refused_with_the_alerts_that_exist(filled, alert):
    done = filled.run("alerts", "resolve", "77", "--note", NOTE)

    assert done.code == 65
    listed = f"{alert['id'][:8]} (mail, recall at least 0.95, round {alert['fired_in_round']})"
    assert f"no alert matches '77', as an id or as a round; alerts: {listed}" in done.err
