"""Old rounds, and a person who asks to have them restated."""

from datetime import timedelta

from monitor.domain.model import Collected, LabelEvent
from monitor.rounds import restating
from monitor.rounds.restating import RestateRequest
from tests.rounds.scene import LIMITS, MONDAY, WEEK, Scene, settings


def scene_of(database, *, after=0, labels=400):
    """A monitor whose rounds take late labels for a day; ``after`` rounds have been there."""
    asked_for = settings(limits=LIMITS, labels=labels, late_labels=timedelta(days=1))
    scene = Scene(database, asked_for)
    for number in range(1, after + 1):
        scene.week(number, precision=0.85, recall=0.6)
        scene.now = MONDAY + (number - 1) * WEEK
    return scene


def asked(*rounds, **changes):
    return RestateRequest(by="ana", why="a label file was wrong", rounds=rounds, **changes)


def restate(scene, *rounds, dry_run=False, **changes):
    return restating.restate(scene.context, asked(*rounds, **changes), dry_run=dry_run)


def restate_precision(scene, *numbers, to):
    """Restate rounds with a file that gives all flagged items this answer."""
    return restate(scene, *numbers, read_file=file_with(scene, to))


def file_with(scene, answer, *, annotator=None):
    """A label file that gives every flagged item this answer."""
    [known] = scene.rows("select distinct annotator from label_events where annotator <> 'eva'")
    flagged = scene.flagged()

    def read(tasks):
        return Collected(
            tuple(
                LabelEvent(key, annotator or known["annotator"], answer)
                for key, task in tasks.items()
                if task.item_id in flagged
            )
        )

    return read


def stands(scene):
    """What a restatement changes."""
    return [
        scene.rows(query)
        for query in (
            "select number, version, label_revision, estimated_revision, claimed_by from rounds",
            "select * from restated_versions order by round_id, version",
            "select round_id, version, count(*) as n from estimates group by round_id, version"
            " order by round_id, version",
            "select round_id, version, log_e, log_m from evidence"
            " order by round_id, version, metric",
            "select key from effects order by key",
            "select count(*) as n from label_events",
            "select count(*) as n from round_events",
        )
    ]
