"""Other bands: a new history that still knows what was labeled under the old ones."""

import pytest

from monitor.domain.sample_settings import Bands, Sample
from tests.rounds.played import played
from tests.rounds.scene import REFERENCE, Scene, settings

THREE = Sample(max_labels=400, bands=Bands(flagged=2, passed=3))
SETTINGS = settings(labels=400)


@played
def one(database):
    """A round."""
    scene = Scene(database, SETTINGS)
    scene.play(1)
    return scene


def reference(scene):
    """Reference of the newest history, as stored."""
    [row] = scene.rows("select reference from histories order by id desc limit 1")
    return row["reference"]


def test_the_items_of_the_old_bands_are_the_reference_of_the_new_history(one):
    one.play(2)
    [old] = one.rows("select sum(labeled) as labeled, sum(positive) as positive from counts")
    assert old["labeled"] == 800

    one.settings = settings(sample=THREE)
    one.play(3)

    found = reference(one)
    assert set(found) == {"flagged-1", "flagged-2", "passed-1", "passed-2", "passed-3"}
    assert sum(n for _, n in found.values()) == 800  # one weight a round: every label counts
    assert sum(y for y, _ in found.values()) == old["positive"]

    # Bands that change twice keep the items of both.
    one.settings = settings(sample=Sample(max_labels=400, bands=Bands(flagged=1, passed=2)))
    one.draw(4)

    found = reference(one)
    assert set(found) == {"flagged", "passed-1", "passed-2"}
    query = "select sum(labeled) as n from counts where stratum like 'flagged%'"
    [flagged] = one.rows(query)
    assert 0.8 * flagged["n"] < found["flagged"][1] <= flagged["n"]

    # The bands of before go on with their own history.
    one.settings = SETTINGS
    one.draw(5)

    rows = one.rows("select number, history_id from rounds order by number")
    histories = [row["history_id"] for row in rows]
    assert histories[0] == histories[1] == histories[4]
    assert len(set(histories)) == 3


def test_only_items_since_the_last_change_come_along(scene):
    for number in (1, 2):
        scene.play(number, precision=0.95)
    scene.play(3, precision=0.35)
    [late] = scene.rows(
        "select labeled, positive from counts join rounds on rounds.id = counts.round_id"
        " where number = 3 and stratum = 'flagged'"
    )

    scene.settings = settings(sample=THREE)
    scene.draw(4, precision=0.35)

    found = reference(scene)
    assert sum(found[name][1] for name in ("flagged-1", "flagged-2")) == late["labeled"]
    assert sum(found[name][0] for name in ("flagged-1", "flagged-2")) == late["positive"]
    assert sum(found[name][1] for name in found if name.startswith("passed")) > 600


def test_the_labels_from_before_launch_are_added_where_nothing_changed(scene):
    scene.settings = settings(sample=THREE, reference=REFERENCE)
    scene.play(1)
    [row] = scene.rows("select sum(labeled) as labeled from counts where stratum like 'flagged%'")

    scene.settings = settings(labels=400, reference=REFERENCE)
    scene.draw(2)

    matrix = REFERENCE.tp + REFERENCE.fp
    assert matrix < reference(scene)["flagged"][1] <= matrix + row["labeled"]


@pytest.mark.parametrize(
    ("change", "version"),
    [({"model": "models:/mail/2"}, None), ({"threshold": 0.6}, None), ({}, "2")],
    ids=["model", "threshold", "version"],
)
def test_another_classifier_gets_nothing(one, change, version):
    one.settings = settings(sample=THREE, **change)
    one.source.threshold = change.get("threshold", one.source.threshold)
    one.draw(2, version=version)

    assert reference(one) is None
