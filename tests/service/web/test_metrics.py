"""What the metrics say, in which form, at what cost, and that they say no more."""

import re
from datetime import timedelta

from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import event

from monitor.service.web.metrics import Own, exposition
from monitor.storage.outbox import effect_store
from monitor.storage.tables import effects, payloads
from tests.pages import page
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, MONDAY, REFERENCE, Scene, overview, settings
from tests.service.web.serving import samples
from tests.storage.rows import add_effect, add_round

LABELS = {"monitor", "metric", "basis", "side", "state", "sink", "version"}
EVERYTHING = Own(last_success=MONDAY, failing={"mail": True}, reloaded=True, reloaded_at=MONDAY)


def told(scene, *, monitors=("mail",), own=EVERYTHING):
    return exposition(scene.database, monitors, own, scene.now)


def value(text, name, **labels):
    return samples(text)["pr_monitor_" + name, *sorted(labels.items())]


@played
def alerting(database):
    """Two good rounds, one far under its limits, and one that is being labeled."""
    scene = Scene(database, settings(limits=LIMITS, reference=REFERENCE))
    for number in (1, 2):
        scene.play(number)
    scene.play(3, precision=0.1)
    scene.week(4)
    scene.run(4)
    scene.answer(0.25)
    scene.run()
    return scene


def test_several_open_rounds_are_summed_and_the_first_deadline_counts(database):
    scene = Scene(database, settings(deadline=timedelta(days=10)))
    for number in (1, 2):
        scene.week(number)
        scene.run(number)

    text = told(scene)

    assert value(text, "rounds", monitor="mail", state="labeling") == 2
    assert value(text, "labels_wanted", monitor="mail") == 400
    ends = [scene.round(number).deadline for number in (1, 2)]
    assert value(text, "labels_deadline_timestamp_seconds", monitor="mail") == ends[0].timestamp()
    assert ends[0] < ends[1]


def test_rounds_labels_estimates_and_evidence_are_those_of_the_status(alerting):
    text = told(alerting)

    states = {
        state: value(text, "rounds", monitor="mail", state=state)
        for state in ("open", "labeling", "closed", "skipped", "abandoned")
    }
    assert states == {"open": 0, "labeling": 1, "closed": 3, "skipped": 0, "abandoned": 0}
    assert value(text, "labels_wanted", monitor="mail") == 200
    assert value(text, "labels_received", monitor="mail") == 50
    deadline = value(text, "labels_deadline_timestamp_seconds", monitor="mail")
    assert deadline == (alerting.now + timedelta(days=5)).timestamp()
    rows = overview(alerting.database, alerting.context.settings, alerting.now).estimates
    assert len(rows) == 4
    for row in rows:
        labels = {"monitor": "mail", "metric": row.metric, "basis": row.basis}
        for end, name in (("point", "ratio"), ("low", "low_ratio"), ("high", "high_ratio")):
            assert value(text, f"estimate_{name}", **labels) == getattr(row, end)
    slot = value(text, "estimate_slot_timestamp_seconds", monitor="mail")
    assert slot == alerting.round(3).slot.timestamp()
    labels = {"monitor": "mail", "metric": "precision", "side": "at_least"}
    assert value(text, "limit_ratio", **labels) == 0.7
    assert value(text, "evidence_ratio", **labels) > 1
    assert value(text, "alert_firing", **labels) == 1


def test_answers_of_open_rounds_are_counted_as_the_status_counts_them(database):
    scene = Scene(database, settings(overlap=0.2))
    scene.draw(1)
    scene.answer(0.25)
    scene.run()

    text = told(scene)

    [waiting] = overview(database, scene.context.settings, scene.now).open_rounds
    assert value(text, "labels_wanted", monitor="mail") == waiting.wanted > 200
    assert value(text, "labels_received", monitor="mail") == waiting.answered > 0


def test_what_waits_is_told_per_sink(database):
    scene = Scene(database, settings())
    add_round(database)
    for key in ("a", "b"):
        add_effect(database, 1, key, sink="ops")
    scene.execute(effects.update().where(effects.c.key == "b").values(status=effect_store.DEAD))
    scene.now = MONDAY + timedelta(minutes=5)

    text = told(scene)

    waiting, dead, age = (
        value(text, f"effects_{name}", sink="ops")
        for name in ("waiting", "dead", "oldest_age_seconds")
    )
    assert (waiting, dead, age) == (2, 1, 300)


def test_neither_a_removed_monitor_nor_what_is_unknown_is_told(database):
    scene = Scene(database, settings())
    add_round(database, monitor="gone")

    text = told(scene, monitors=("new",), own=Own())

    names = {name for name, *_ in samples(text)}
    assert value(text, "rounds", monitor="new", state="closed") == 0
    assert "gone" not in text
    assert "pr_monitor_build_info" in names
    assert not {name for name in names if "config" in name or "success" in name}


def families(text):
    return list(text_string_to_metric_families(text))


def test_names_follow_the_conventions_and_the_docs_and_tell_no_text_of_a_stranger(alerting):
    """As promtool has it: our prefix, base units at the end, a help text, plain labels."""
    add_effect(alerting.database, 1, "waits")
    alerting.execute(
        payloads.update().values(shown={"text": "canary"}),
        "update rounds set reason = 'canary'",
        "update effects set last_error = 'canary'",
    )
    text = told(alerting)
    found = families(text)

    documented = set(re.findall(r"^\| `(pr_monitor_\w+)", page("prometheus"), re.MULTILINE))

    assert {family.name for family in found if family.samples} == documented
    assert "canary" not in text
    for family in found:
        assert re.fullmatch(r"pr_monitor_[a-z]+(_[a-z]+)*", family.name), family.name
        assert family.type == "gauge"
        assert family.documentation.endswith("."), family.name
        assert not family.name.endswith(("_total", "_count", "_sum", "_bucket", "_gauge"))
        assert not re.search(r"_(minutes|hours|days|ms|milliseconds|percent)(_|$)", family.name)
        assert ("timestamp" in family.name) <= family.name.endswith("_timestamp_seconds")
        for sample in family.samples:
            assert set(sample.labels) <= LABELS


def test_as_many_queries_are_made_for_many_monitors_as_for_one(database):
    scene = Scene(database, settings())
    add_round(database)
    asked = []

    def keep_queries(*found):
        if found[2].lstrip().lower().startswith("select"):
            asked.append(found[2])

    event.listen(database.engine, "after_cursor_execute", keep_queries)

    told(scene)
    for_one = len(asked)
    for number in range(20):
        add_round(database, monitor=f"other-{number}")
    asked.clear()
    told(scene, monitors=["mail", *(f"other-{number}" for number in range(20))])

    assert len(asked) == for_one == 19
