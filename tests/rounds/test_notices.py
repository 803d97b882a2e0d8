"""Notices say what is unusual about a round, in the report and the log, and wake nobody."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from monitor.domain.model import Answer
from monitor.domain.report import NoticeRow, RoundReport
from monitor.hooks.context import HookContext
from monitor.hooks.log import LogHandler, LogSettings
from monitor.rounds.delivery import deliver
from monitor.tracking.describe import describe
from monitor.tracking.values import tags
from tests.rounds.scene import Scene, settings
from tests.tracking.reports import make_report

OTHER = {Answer.POSITIVE: Answer.NEGATIVE, Answer.NEGATIVE: Answer.POSITIVE}


def disputed(database):
    """Two people contradict each other on each item that both have."""
    scene = Scene(database, settings(overlap=0.25, hooks=("ops",)))
    scene.draw(1)
    scene.labeler.second_answers = {item: OTHER[truth] for item, truth in scene.truth.items()}
    scene.answer()
    scene.run()
    return scene


def test_a_real_round_tells_its_report_the_log_and_status_but_no_hook(database):
    scene = disputed(database)
    lines: list[tuple[str, str]] = []

    def write(text, **keys):
        lines.append((text, keys["notice"]))

    logger: Any = SimpleNamespace(info=write, warning=write)
    log = LogHandler(LogSettings(), HookContext("log"), logger)
    deliver(database, {"log": log}, lambda: scene.now)

    [row] = RoundReport.model_validate(scene.reports()[-1]).notices
    assert row.kind == "disagreement"
    events = ["round.attention", "notice.disagreement"]  # what is contradicted is missing
    assert [each["event"] for each in scene.notices()] == events
    assert [each["event"] for each in scene.notices("ops")] == events[:1]
    assert lines[1:] == [(f"mail, round 1: {row.sentence}.", "notice.disagreement")]
    assert scene.overview().notes[-1] == f"round 1: {row.sentence}"
    assert scene.round_report(1).notices == [row]


def test_late_labels_change_notices_in_the_report_and_repeat_nothing_in_the_log(database):
    scene = disputed(database)
    before = scene.notices()

    scene.labeler.second_answers |= dict(list(scene.truth.items())[::3])
    scene.now += timedelta(days=1)
    scene.run()

    assert scene.round(1).version == 2
    first, second = (scene.report(1, version)["notices"] for version in (1, 2))
    assert first != second
    assert scene.notices() == before != []


def test_a_drop_of_precision_alone_is_told_by_its_cause_and_no_notice(database):
    scene = Scene(database, settings())
    scene.play(1)
    scene.play(2, precision=0.2)

    assert scene.report(2)["cause"]["by_classifier"][2] < 0
    assert scene.report(2)["notices"] == []


def test_mlflow_gets_kinds_as_a_tag_and_the_sentences():
    row = NoticeRow(kind="judge", subject="verdicts", value=1.5, sentence="other | items")
    quiet = make_report(6)
    unusual = quiet.model_copy(update={"notices": [row, row]})

    assert tags(quiet)["monitor.notices"] == "none"
    assert tags(unusual)["monitor.notices"] == "judge"
    assert "**What needs a look:** Other \\| items." in describe(unusual)
    assert "needs a look" not in describe(quiet)
