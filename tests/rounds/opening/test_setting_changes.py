"""What other settings begin: told before the next round, and between the rounds that are there."""

from dataclasses import replace
from datetime import timedelta

import pytest

from monitor.domain.challenger import Challenger
from monitor.domain.errors import SourceRefused
from monitor.domain.sample_settings import Bands, Cells, Sample
from monitor.domain.settings import Schedule
from monitor.presentation.setting_changes import change_sentence
from monitor.rounds.opening.setting_changes import pending_changes, read_changes
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store
from tests.rounds.played import played
from tests.rounds.scene import Scene, settings


@played
def scene(database):
    scene = Scene(database, settings())
    scene.play(1)
    return scene


def play_at(scene, threshold, number):
    scene.settings = settings(threshold=threshold)
    scene.source.threshold = threshold
    scene.play(number)


def ahead(scene, **changes):
    scene.settings = settings(**changes)
    return scene.read(pending_changes, scene.context)


def between(scene):
    rounds = scene.read(round_store.find_rounds, scene.name)
    changes = scene.read(read_changes, rounds)
    return {
        round_.number: [change_sentence(c) for c in changes.get(round_.id, [])] for round_ in rounds
    }


def test_the_same_settings_and_others_that_begin_nothing_are_not_told(scene):
    fewer = Sample(max_labels=100, bands=Bands(flagged=1, passed=1))

    assert ahead(scene) == []
    assert ahead(replace(scene, name="without rounds"), threshold=0.9) == []
    assert ahead(scene, deadline=timedelta(days=1), sample=fewer) == []
    assert ahead(scene, source=ALL_KEPT) == []


STARTS_AGAIN = (
    ": the next round begins a new history: estimates with earlier rounds start again; evidence "
    "and open alerts stay"
)
FROM_LABELS = (
    ": the next round begins a new history, which starts from the labels so far, counted by the "
    "new strata"
)
AMOUNT = {"columns": {"weight": "amount"}}
SAMPLED = {"kept_with": {"flagged": 1.0, "passed": 0.1}}
ALL_KEPT = {"kept_with": {"flagged": 1.0, "passed": 1.0}}
PRAGUE = Schedule(cron="0 6 * * MON", time_zone="Europe/Prague", lag=timedelta(hours=2))


@pytest.mark.parametrize(
    ("changes", "what", "meaning"),
    [
        (
            {"threshold": 0.7, "model": "models:/mail/7"},
            "model not set -> models:/mail/7, source.threshold 0.5 -> 0.7",
            STARTS_AGAIN,
        ),
        ({"source": AMOUNT}, "source.columns.weight not set -> amount", STARTS_AGAIN),
        (
            {"source": SAMPLED},
            "source.kept_with not set -> {flagged: 1, passed: 0.1}",
            STARTS_AGAIN,
        ),
        (
            {"sample": Sample(max_labels=200, bands=Bands(flagged=2, passed=1))},
            "sample.bands.flagged 1 -> 2",
            FROM_LABELS,
        ),
        (
            {"sample": Sample(max_labels=200, cells=Cells(flagged=20, passed=40))},
            "sample.cells.flagged not set -> 20, sample.cells.passed not set -> 40",
            FROM_LABELS,
        ),
        (
            {"schedule": PRAGUE},
            "schedule.time_zone UTC -> Europe/Prague, schedule.lag 0:00:00 -> 2:00:00",
            ": the next window begins where the last one ended, 2025-03-03 06:00 UTC; none "
            "overlaps and nothing is left out",
        ),
    ],
)
def test_other_settings_are_told_with_what_they_mean(scene, changes, what, meaning):
    assert ahead(scene, **changes) == [f"{what}{meaning}"]


def test_other_bands_over_the_same_cells_begin_nothing(scene):
    cells = Cells(flagged=3, passed=6)
    scene.settings = settings(sample=Sample(max_labels=200, cells=cells))
    scene.play(2)

    assert ahead(scene, sample=Sample(max_labels=200, cells=cells, bands=Bands(passed=2))) == []


def test_settings_that_a_history_had_before_go_on_with_it(scene):
    play_at(scene, 0.7, 2)

    [told] = ahead(scene)

    assert told.startswith("source.threshold 0.7 -> 0.5: the next round continues the history")


def test_the_round_that_began_something_says_so(scene):
    play_at(scene, 0.7, 2)
    scene.settings = settings(threshold=0.7, schedule=Schedule(cron="0 7 * * MON"))
    scene.now += timedelta(days=8)
    with pytest.raises(SourceRefused):  # the round opens, and waits for its predictions
        scene.run()

    assert between(scene) == {
        1: [],
        2: ["begins a new history (source.threshold 0.5 -> 0.7)"],
        3: ["is the first by another schedule (schedule.cron 0 6 * * MON -> 0 7 * * MON)"],
        4: [],
    }


def test_predictions_of_another_model_version_begin_a_history(database):
    scene = Scene(database, settings())
    scene.play(1, version="7")
    scene.play(2, version="8")

    assert between(scene)[2] == ["begins a new history (model version 7 -> 8)"]


@pytest.mark.parametrize("source", [AMOUNT, SAMPLED])
def test_rounds_with_other_sizes_take_nothing_from_rounds_that_count_rows(scene, source):
    scene.settings = settings(source=source, sample=Sample(max_labels=200, bands=Bands(flagged=2)))
    scene.play(2)
    scene.play(3)

    history = scene.read(frame_store.read_history, scene.round(2).history_id)
    assert history.reference is None
    assert scene.round(3).history_id == history.id
    assert [point.history for point in scene.round_report(3).timeline] == [
        scene.round(number).history_id for number in (1, 2, 3)
    ]


def test_another_challenger_is_told_and_a_first_one_is_not(scene):
    first, other = (Challenger(name=name, predicted="v8") for name in ("v8", "v9"))

    assert ahead(scene, challenger=first) == []
    scene.play(2)

    assert ahead(scene, challenger=other) == [
        "source.challenger v8 (v8) -> v9 (v8): the next round counts with earlier ones of this "
        "challenger only; different ones are never mixed"
    ]
    assert ahead(scene) == [
        "source.challenger v8 (v8) -> not set: the next round compares with nothing"
    ]
