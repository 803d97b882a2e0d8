"""What people read of limits and alerts: what is wrong first, and no reason that is not so."""

from datetime import timedelta

from monitor.cli.views.printing import echo_document
from monitor.cli.views.rounds_page import page_document
from monitor.domain.alerting import EvidenceState, evidence_state, next_reading
from monitor.domain.notice import Notice
from monitor.rounds.reporting.enqueue import enqueue_ended
from monitor.rounds.round_page import read_page
from monitor.tracking.describe import describe
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, Scene, settings


@played
def scene(database):
    """A first round."""
    scene = Scene(database, settings(limits=LIMITS, labels=400))
    scene.play(1, precision=0.85)
    return scene


@played
def fired(scene):
    """A second round whose labels came after thirty hours, and say that precision fell."""
    scene.draw(2, precision=0.3)
    scene.answer()
    scene.run(later=timedelta(hours=30))
    return scene


def firing(scene):
    return Notice.model_validate(scene.alert_notices()[0])


def page_of(scene, number):
    return scene.read(read_page, scene.name, number, None)


def shown(scene, number, capsys):
    echo_document(page_document(page_of(scene, number)))
    return " ".join(capsys.readouterr().out.split())


def states(scene, number):
    report = page_of(scene, number).report
    return {(row.metric, str(row.state)) for row in report.evidence}


# --- why there is no evidence -------------------------------------------------------------------


def test_a_first_round_without_a_reference_is_said_to_learn_only(scene, capsys):
    text = shown(scene, 1, capsys)

    assert states(scene, 1) == {("precision", "learning"), ("recall", "learning")}
    assert "alert open" not in text
    described = describe(page_of(scene, 1).report)
    for evidence in (text, described):
        assert "imit precision at least 0.7: keeps it, 0.84" in evidence
        assert "this round only learns: it has no earlier round and no " in evidence
    assert "`reference` in the config to compare it with" in text


def read(log_e, **changes):
    asked = {"alert_open": False, "limit": 0.7, "log_threshold": 4.0, "log_recovery": None}
    return next_reading(None, log_e=log_e, **(asked | changes))


def test_every_reason_for_no_evidence_is_told_from_the_others():
    nothing, some = (0.0, 0.0, 0.0), (0.1, 0.2, 0.3)
    evidence_states = [
        evidence_state(read(nothing), is_compared=False),
        evidence_state(read(nothing), is_compared=True),
        evidence_state(read(some), is_compared=True),
        evidence_state(read(some, alert_open=True), is_compared=True),
        evidence_state(read((0.1, 0.2, 0.3, 0.4), alert_open=True), is_compared=True),
    ]

    assert evidence_states == [
        EvidenceState.LEARNING,
        EvidenceState.SILENT,
        EvidenceState.GATHERED,
        EvidenceState.ALERT_OPEN,
        EvidenceState.OTHER_VERSION,
    ]


# --- texts of alerts ----------------------------------------------------------------------------


def test_an_alert_says_what_how_sure_of_which_time_how_often_false_and_what_to_do(fired):
    notice = firing(fired)
    report = page_of(fired, 2).report
    older = [row.model_copy(update={"fired_at": None}) for row in report.alerts]

    window, at = "2025-03-03 06:00 to 2025-03-10 06:00 UTC", "2025-03-11 12:00"
    assert notice.sentence.startswith("mail: precision is under its limit 0.7: ")
    assert "(95 % interval" in notice.sentence
    assert f"Fired {at} UTC by round 2, on the predictions of {window}." in notice.sentence
    assert "one false alarm per 52 rounds" in str(notice.promise)
    assert "pr-monitor show 2 -m mail" in str(notice.to_do)
    assert f"pr-monitor alerts resolve {str(notice.alert)[:8]}" in str(notice.to_do)
    assert str(notice.window_start)[:16] == "2025-03-03 06:00"
    assert str(notice.window_end)[:16] == "2025-03-10 06:00"
    [alert] = fired.overview().alerts
    assert (str(alert.window), f"{alert.fired_at:%Y-%m-%d %H:%M}") == (window, at)
    assert (
        "fired in round 2 on 2025-03-11 12:00 UTC, by the predictions of 2025-03-03 06:00 UTC to "
        "2025-03-10 06:00 UTC."
    ) in describe(report)
    assert "fired in round 2." in describe(report.model_copy(update={"alerts": older}))


def test_hooks_are_told_who_ended_an_alert_and_what_it_was(fired):
    [alert] = fired.alerts()
    fired.write(enqueue_ended, alert, "a known outage", fired.now)

    [_, notice] = fired.alert_notices()
    assert (notice["event"], notice["alert"]) == ("alert.resolved", alert.id)
    assert notice["sentence"] == (
        "mail: the alert on precision (at least 0.7) of round 2 was ended by hand: a known outage. "
        f"It fired 2025-03-11 12:00 UTC by round 2, on the predictions of {alert.window}."
    )
