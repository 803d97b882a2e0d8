"""A first round in two waves: what goes out when, how much in all, and what evidence counts."""

from datetime import timedelta

import pytest
from sqlalchemy import delete

from monitor.domain.errors import SourceRefused, SourceUnavailable, StoppedByBug
from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Margin, Sample
from monitor.domain.settings import Limits
from monitor.domain.state import RoundState
from monitor.rounds import versions
from monitor.rounds.estimation.evidence import expected_rates
from monitor.rounds.forecast.plan_window import scan_to_plan
from monitor.rounds.labels.collect import forget_item
from monitor.rounds.opening.removed_monitors import forget_removed_monitors
from monitor.stats.core.counts import Counts
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.waves import log_e_path_of_waves, log_recovery_of_waves
from monitor.storage import tables
from monitor.storage.samples import payload_store
from tests.rounds.played import played
from tests.rounds.scene import MONDAY, REFERENCE, Scene, settings

TOTAL = 400
BANDED = Sample(max_labels=TOTAL, bands=Bands(flagged=2, passed=4))
HALF = timedelta(days=2.5)


ASKED = settings(sample=BANDED, limits=Limits.model_validate({"recall": 0.4}))


@pytest.fixture
def blank(database):
    return Scene(database, ASKED)


@played
def scene(database):
    """A first round whose first wave is out."""
    scene = Scene(database, ASKED)
    drawn(scene)
    return scene


@played
def whole(database):
    """A first round that has closed with both waves."""
    scene = Scene(database, ASKED)
    drawn(scene)
    for _ in range(2):
        scene.label()
    assert scene.round(1).state is RoundState.CLOSED
    return scene


def drawn(scene):
    scene.draw(1, count=2000, share=0.2)
    return scene.round(1)


def sent(scene):
    return {task.item_id for task in scene.tasks}


def reserve(scene):
    return scene.rows('select stratum, id, "order" from reserve order by stratum, "order"')


def test_a_first_round_hands_out_four_tenths_of_its_plan_and_the_rest_once_they_are_answered(scene):
    round_, early = scene.round(1), sent(scene)

    parts = scene.strata(1)
    assert sum(part.planned for part in parts) == TOTAL
    assert [part.first_wave for part in parts] == [-(-4 * part.planned // 10) for part in parts]
    assert len(early) == sum(part.first_wave for part in parts)
    assert round_.second_wave_at == MONDAY + HALF
    assert not early & {row["id"] for row in reserve(scene)}
    assert scene.overview().notes == [
        f"round 1 hands out {TOTAL - len(early)} more items once those that are out are answered, "
        "at 2025-03-05 18:00 UTC at the latest"
    ]
    [asked] = scene.overview().open_rounds
    assert (asked.answered, asked.wanted) == (0, len(early))

    scene.label()

    round_ = scene.round(1)
    assert round_.state is RoundState.LABELING
    assert round_.second_wave_at is None
    assert early < sent(scene)
    assert len(sent(scene)) == TOTAL == sum(part.planned for part in scene.strata(1))
    assert reserve(scene) == []
    assert scene.overview().notes == []
    [asked] = scene.overview().open_rounds
    assert (asked.answered, asked.wanted) == (len(early), TOTAL)

    # The items of both waves are the first of each stratum in the order of the draw.
    rows = scene.rows('select stratum, "order" from items order by stratum, "order"')
    planned = {p.stratum.name: p.planned for p in scene.strata(1)}
    found = [(row["stratum"], row["order"]) for row in rows]
    assert found == [(name, i) for name in sorted(planned) for i in range(planned[name])]

    # Both waves together keep the share by size.
    passed = [part for part in scene.strata(1) if not part.stratum.flagged]
    size, labels = (sum(getattr(part, name) for part in passed) for name in ("size", "planned"))
    share = scene.settings.sample.share_by_size
    assert share == 0.25
    assert all(part.planned >= share * labels * part.size / size - 1 for part in passed)


def test_a_first_round_with_a_margin_plans_its_total_for_the_margin_with_the_assurance(blank):
    wide = {"margin": Margin(precision=0.15, recall=0.2), "max_labels": 2000}
    totals = []
    for assurance in (None, 0.8):
        sample = BANDED.model_copy(update=wide | {"assurance": assurance})
        asked = blank.settings.model_copy(update={"sample": sample})
        one = Scene(blank.database, asked, source=blank.source, name=f"mail-{assurance}")
        if not one.source.rows:
            one.week(1, count=2000, share=0.2)
        one.run(1)
        totals.append(sum(part.planned for part in one.strata(1)))
        assert len(sent(one)) == pytest.approx(0.4 * totals[-1], abs=6)

    assert totals[0] < totals[1] < 2000


def test_the_second_wave_goes_out_at_half_time_though_answers_are_missing(scene):
    scene.answer(0.5)
    scene.now = MONDAY + HALF - timedelta(minutes=1)
    scene.run()
    before = len(sent(scene))

    scene.now = MONDAY + HALF
    scene.run()

    assert before < TOTAL
    assert len(sent(scene)) == TOTAL


def test_after_the_deadline_nobody_is_asked_and_the_first_wave_is_the_round(scene, monkeypatch):
    early = sent(scene)

    with monkeypatch.context() as patched:  # a kill between giving up and closing
        patched.setattr(versions, "close", refuse)
        with pytest.raises(StoppedByBug, match="cut off"):
            give_up(scene)
    scene.run()

    closed = scene.round(1)
    assert (closed.state, closed.partial) == (RoundState.CLOSED, True)
    assert sum(part.planned for part in scene.strata(1)) == len(early)
    assert (sent(scene), reserve(scene)) == (early, [])
    said = scene.reasons(1)
    assert "no second wave goes out: the deadline has passed" in said
    assert said[-1] == "all labels of the first wave are in; the second never went out"


def give_up(scene, answered=1.0):
    scene.answer(answered)
    scene.now = MONDAY + timedelta(days=6)
    scene.run()


def gone(*_):
    message = "the predictions of this window were deleted"
    raise SourceUnavailable(message)


def test_labels_that_come_by_themselves_need_no_predictions_for_the_second_wave(blank):
    blank.labeler.asks_people = False
    round_ = drawn(blank)
    blank.labeler.answers.update(blank.truth)
    blank.source.show = gone
    blank.now = round_.deadline + timedelta(days=1)

    blank.run()
    blank.run()

    assert blank.round(1).state is RoundState.CLOSED
    assert not blank.round(1).partial
    assert len(sent(blank)) == TOTAL


def test_nobody_is_asked_about_items_that_nobody_can_be_shown_until_predictions_are_back(scene):
    scene.answer()
    early, rows = sent(scene), scene.source.rows
    scene.source.rows = rows[: len(rows) // 2]

    with pytest.raises(SourceRefused, match="items of the second wave are not among the pred"):
        scene.run()

    assert sent(scene) == early
    [waits] = [line for line in scene.overview().problems if line.startswith("round 1 waits")]
    assert "the round closes with its first wave at its deadline" in waits
    assert scene.overview().notes == []

    scene.source.rows = rows
    scene.run()

    assert len(sent(scene)) == TOTAL
    assert scene.overview().problems == []


def test_a_few_items_whose_predictions_are_gone_are_left_out(scene):
    scene.answer()
    first = {row["stratum"]: row["id"] for row in reversed(reserve(scene))}
    lost = sorted(first.values())[:2]
    scene.source.rows = [row for row in scene.source.rows if row["id"] not in lost]

    scene.run()

    assert not sent(scene) & set(lost)
    assert len(sent(scene)) == TOTAL - 2 == sum(part.planned for part in scene.strata(1))
    assert scene.reasons(1)[-1].endswith("; 2 more are not among the predictions any more")


def test_an_item_that_is_to_be_forgotten_leaves_the_reserve_and_is_never_handed_out(scene):
    round_ = scene.round(1)
    early = len(sent(scene))
    first = {row["stratum"]: row["id"] for row in reversed(reserve(scene))}
    for item in first.values():
        [holder] = scene.read(payload_store.rounds_with_item, item)
        found = forget_item(scene.database, holder, item, [scene.labeler], scene.context.clock)
        assert (holder.id, found.deleted) == (round_.id, True)
    scene.answer()

    scene.run()

    assert not sent(scene) & set(first.values())
    assert len(sent(scene)) == TOTAL
    scene.label()
    assert not scene.round(1).partial
    assert early < TOTAL


def test_a_round_of_which_all_is_forgotten_closes_with_what_it_was_given(scene):
    early = len(sent(scene))
    with scene.database.write() as connection:
        connection.execute(delete(tables.reserve))
    scene.answer()

    scene.run()
    scene.run()

    assert sum(part.planned for part in scene.strata(1)) == early
    assert scene.round(1).state is RoundState.CLOSED


def test_the_reserve_of_a_removed_monitor_goes_with_what_its_labelers_saw(scene):
    round_ = scene.round(1)
    later = round_.deadline + scene.settings.late_labels + timedelta(days=1)

    forget_removed_monitors(scene.database, ["another"], lambda: later)

    assert reserve(scene) == []
    assert scene.rows("select 1 from payloads") == []


def test_labels_that_come_by_themselves_are_waited_for_before_any_size_follows_them(blank):
    blank.labeler.asks_people = False
    round_ = drawn(blank)
    early = sent(blank)
    complaints = {item for item in early if blank.truth[item] is Answer.POSITIVE}
    blank.labeler.answers.update(dict.fromkeys(complaints, Answer.POSITIVE))
    blank.now = round_.deadline - timedelta(minutes=1)

    blank.run()

    assert round_.second_wave_at == round_.deadline
    assert 0 < len(complaints) < len(early)
    assert sent(blank) == early


def test_evidence_of_a_first_round_is_that_of_its_second_wave_by_the_rates_of_its_first(whole):
    round_, parts = whole.round(1), whole.strata(1)

    one, two = (counts_of(wave[-1]) for wave in whole.labels(1).by_wave())
    [found] = whole.readings(1).values()
    [limit] = round_.settings.limits.watched()
    first = {part.stratum.name: part.first_wave for part in parts}
    assert one.labeled.tolist() == [*first.values()]
    assert two.labeled.sum() > 200
    read = log_e_path_of_waves(limit, [[one], [two]], [None, guess([one])])
    assert found.log_e == pytest.approx(read[-1].tolist())
    assert any(found.log_e)
    assert not round_.partial
    report = whole.round_report(round_.number)
    assert {row.stratum: row.first_wave for row in report.strata} == first


def test_a_plan_knows_the_first_round_and_the_round_after_it_has_one_wave(whole):
    planned = scan_to_plan(whole.context)
    new = Scene(whole.database, whole.settings, source=whole.source, name="new", now=whole.now)
    whole.draw(2, count=2000, share=0.2)

    assert planned.basis == "one earlier round"
    assert planned.prospect.prior_rates.source not in {"scores", "nothing"}
    assert (planned.two_waves, scan_to_plan(new.context).two_waves) == (False, True)
    assert whole.round(2).second_wave_at is None
    assert {part.first_wave for part in whole.strata(2)} == {None}


@pytest.mark.slow
def test_an_alert_of_an_earlier_history_takes_one_step_by_both_waves_of_a_first_round(whole):
    limits = Limits.model_validate({"recall": 0.95, "false_alarm_every": 2})
    whole.settings = whole.settings.model_copy(update={"limits": limits, "reference": REFERENCE})
    for number in (2, 3, 4):
        whole.play(number, count=2000, share=0.2)

    found = whole.play(5, count=2000, share=0.2, version="another model")

    waves = [counts_of(wave[-1]) for wave in whole.labels(5).by_wave()]
    [reading] = whole.readings(5).values()
    [limit] = found.settings.limits.watched()
    assert found.history_id != whole.round(4).history_id
    assert len(waves) == 2
    by_the_launch = expected_rates([], None, waves[0], found.settings)
    assert reading.recovery is not None
    assert reading.recovery.rounds >= 1
    assert reading.log_recovery == pytest.approx(
        log_recovery_of_waves(limit, waves, [by_the_launch, guess(waves[:1])])
    )
    assert log_recovery_of_waves(limit, waves[:1], [by_the_launch]) != 0


def counts_of(tallies):
    return Counts.of_arrays(
        size=[t.size for t in tallies],
        labeled=[t.labeled for t in tallies],
        positive=[t.positive for t in tallies],
        is_flagged=[t.stratum.flagged for t in tallies],
    )


def test_a_second_person_gets_the_same_share_of_the_second_wave(blank):
    blank.settings = blank.settings.model_copy(update={"overlap": 0.25})
    drawn(blank)
    blank.label()

    rows = blank.rows(
        'select i.stratum, i."order", s.first_wave, t.slot from tasks t '
        "join items i on i.round_id = t.round_id and i.id = t.item_id "
        "join strata s on s.round_id = i.round_id and s.stratum = i.stratum"
    )
    late = [row for row in rows if row["order"] >= row["first_wave"]]
    twice = [row for row in late if row["slot"] == 2]
    assert len(twice) == pytest.approx((len(late) - len(twice)) / 4, abs=6)


@pytest.mark.parametrize("fails", ["show", "send"])
def test_what_stops_the_second_wave_leaves_all_of_it_for_the_next_time(scene, monkeypatch, fails):
    scene.answer()
    port = scene.source if fails == "show" else scene.labeler
    with monkeypatch.context() as patched:
        patched.setattr(port, fails, refuse)
        with pytest.raises(Exception, match="cut off"):
            scene.run()
    between = len(sent(scene)), scene.round(1).second_wave_at

    scene.run()

    assert between[0] < TOTAL
    assert (between[1] is None) == (fails == "send")
    assert len(sent(scene)) == TOTAL
    assert len(scene.rows("select 1 from items")) == TOTAL


def refuse(*_, **__):
    message = "cut off"
    raise OSError(message)


def test_a_late_label_of_either_wave_makes_a_version_with_the_evidence_of_both(whole):
    whole.turn(next(item.id for item in whole.labels(1).items if item.wave == 2))

    whole.run()

    assert whole.round(1).version == 2
    [reading] = whole.readings(1).values()
    assert any(reading.log_e)


@pytest.mark.parametrize("one_wave", [{"bands": Bands(flagged=1, passed=1)}, {"second_wave": None}])
def test_a_round_of_one_stratum_a_class_and_any_by_the_setting_null_goes_out_at_once(
    blank, one_wave
):
    blank.settings = settings(sample=BANDED.model_copy(update=one_wave))

    round_ = drawn(blank)

    assert round_.second_wave_at is None
    assert len(sent(blank)) == TOTAL
