"""Opening an abandoned round again: what of it goes, and who is too late for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.domain.model import Answer, LabelEvent
from monitor.domain.sample_settings import Bands, Sample
from monitor.domain.state import RoundState
from monitor.rounds import versions
from monitor.storage.labels import label_store
from monitor.storage.results import redo_store
from monitor.storage.rounds import round_claims
from tests.rounds.played import played
from tests.rounds.scene import Scene, settings


@played
def scene(database):
    """A round that ended while its second wave was still to go out."""
    sample = Sample(max_labels=200, bands=Bands(flagged=2, passed=4))
    scene = Scene(database, settings(sample=sample))
    scene.week(1, share=0.2)
    scene.run(1)
    with scene.database.write() as connection:
        claim = round_claims.claim_round(connection, scene.round(1).id)
    assert claim is not None
    versions.abandon(scene.context, scene.round(1), claim, "as a test wants it")
    with scene.database.write() as connection:
        round_claims.release_round(connection, claim)
    return scene


@pytest.fixture
def abandoned(scene):
    return scene.round(1)


def reopen(scene, round_):
    with scene.database.write() as connection:
        return redo_store.reopen_abandoned(
            connection, round_, settings=scene.settings, now=scene.now, reason="by hand"
        )


def reserved(scene):
    return len(scene.rows("select 1 from reserve"))


def test_a_round_opened_again_has_no_second_wave_of_the_first_time(scene, abandoned):
    before = abandoned.second_wave_at, reserved(scene)

    reopened = reopen(scene, abandoned)

    assert reopened
    assert all(before)
    assert (scene.round(1).second_wave_at, reserved(scene)) == (None, 0)


def test_an_answer_that_came_after_the_round_was_read_keeps_it_as_it_is(scene, abandoned):
    [task] = scene.rows('select "key" from tasks limit 1')
    with scene.database.write() as connection:
        event = LabelEvent(task["key"], "ada", Answer.POSITIVE)
        label_store.add_events(connection, "memory", [event], scene.now)

    reopened = reopen(scene, abandoned)

    assert not reopened
    assert scene.round(1).state is RoundState.ABANDONED
    assert reserved(scene) > 0


def test_a_round_that_another_worker_opened_meanwhile_is_left_to_it(scene, abandoned):
    reopen(scene, abandoned)
    scene.run()
    drawn = reserved(scene)

    reopened = reopen(scene, abandoned)

    assert not reopened
    assert scene.round(1).state is RoundState.LABELING
    assert reserved(scene) == drawn > 0


def test_a_round_abandoned_again_meanwhile_is_left_as_it_is(scene, abandoned):
    late = replace(abandoned, first_version=abandoned.first_version - 1)

    reopened = reopen(scene, late)

    assert not reopened
    assert scene.round(1) == abandoned
