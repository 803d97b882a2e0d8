"""Items that belong together, through whole rounds: drawn with their group, estimated, tested."""

from dataclasses import replace

import numpy as np
import pytest

from monitor.rounds.estimation.groups import label_groups
from monitor.rounds.estimation.history import class_labels, labels_of_bands
from monitor.rounds.estimation.reading import read_batch
from monitor.stats.design.label_groups import group_effects
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.random_shares import log_e_path_of_shares
from monitor.stats.estimation.posterior import estimates
from monitor.testing import MemorySource
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, THRESHOLD, Scene, settings


@played
def scene(database):
    source = MemorySource([], threshold=THRESHOLD, show=["text"], group="user")
    scene = Scene(database, settings(limits=LIMITS), source)
    for number in (1, 2):
        week(scene, number)
        scene.run(number)
        scene.label()
    return scene


def groups_of(labels):
    groups = label_groups(labels)
    assert groups is not None
    return groups


def week(scene, number):
    """A week in which ten items in a row are of one user, but for each eleventh, which has none."""
    scene.week(number)
    for place, row in enumerate(scene.source.rows):
        row["user"] = None if place % 11 == 0 else f"user {place // 10}"


def test_items_keep_the_group_that_they_were_drawn_with(scene):
    of = {row["id"]: row["user"] for row in scene.source.rows}
    for row in scene.source.rows:
        row["user"] = "another"

    items = scene.labels(1).items

    assert {item.id: item.group for item in items} == {item.id: of[item.id] for item in items}
    assert all(item.segments == {} for item in items)


def test_an_item_without_a_group_is_a_group_by_itself(scene):
    labels = scene.labels(1)
    groups = groups_of(labels)

    names = {item.group or item.id for item in labels.items}
    assert int(groups.group.max()) + 1 == len(names)
    assert int(groups.labeled.sum()) == len(labels.items)


def test_the_rate_is_estimated_by_the_design_effect_of_the_labels(scene):
    tally, groups = scene.tally(1), groups_of(scene.labels(1))
    effects = group_effects(groups, tally.counts)
    expected = estimates(
        replace(tally.counts, group_effects=effects),
        metrics=("precision", "recall"),
        seed=scene.round(1).sobol_seed,
        basis="round",
    )

    stored = scene.estimates(1)

    assert max(effects) > 1
    for row in expected:
        assert stored[row.metric, "round", row.estimand].low == pytest.approx(row.low)


def test_evidence_is_read_by_group_at_the_end_of_a_round(scene):
    first, second = scene.tally(1).counts, scene.tally(2).counts
    groups = groups_of(scene.labels(2))
    limit = Limit("precision", 0.7, "at_least")
    wanted = log_e_path_of_shares(limit, [second], guess([first]), None, [first], groups=groups)
    plain = log_e_path_of_shares(limit, [second], guess([first]), None, [first])

    reading = scene.readings(2)["precision", "at_least"]

    assert list(reading.log_e) == pytest.approx(wanted[-1].tolist())
    assert not np.allclose(wanted, plain)
    assert not reading.log_path


def test_pooled_values_count_earlier_rounds_by_what_their_labels_are_worth(scene):
    plain = scene.tally(1).counts
    effects = group_effects(groups_of(scene.labels(1)), plain)

    batch = read_batch(scene.context, scene.round(2))

    [first] = batch.earlier
    assert first.counts.group_effects == pytest.approx(effects)
    cells = np.arange(len(plain.size))
    ours, theirs = (class_labels([each], plain, cells) for each in (first.counts, plain))
    assert ours.labeled[0] == pytest.approx(theirs.labeled[0] / effects)
    assert labels_of_bands([first.counts])[0].positive == pytest.approx(plain.positive / effects)
