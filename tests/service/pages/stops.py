"""A round on the labeling page that may end before all of its plan is answered."""

from __future__ import annotations

from sqlalchemy import update

from monitor.domain.sample_settings import Bands, Margin, Sample
from monitor.domain.settings import ReferenceMatrix
from monitor.storage.tables import store
from tests.rounds.scene import Scene, settings
from tests.service.pages.people import on_page

STORE_ID = "00000000-0000-4000-8000-000000000000"
REFERENCE = ReferenceMatrix(tp=60, fp=40, fn=30, tn=270)


def stopping(**more) -> Sample:
    """Ask for margins at which a round stops."""
    asked = {"margin": Margin(precision=0.12, recall=0.12), "max_labels": 600, "stop": "margin"}
    return Sample(**{**asked, "bands": Bands(flagged=1, passed=1), **more})


def scene_of(database, folder, **more) -> Scene:
    """A classifier that is better than its plan expects, and a week of its predictions.

    The store has a fixed id, which seeds the draw: whether a round stops early depends on it.
    """
    with database.write() as connection:
        connection.execute(update(store).values(id=STORE_ID))
    scene = Scene(database, settings(**{"sample": stopping(), "reference": REFERENCE, **more}))
    on_page(scene, folder)
    scene.week(1, count=4000, precision=0.75, recall=0.8, share=0.25)
    return scene


def drawn(database, folder, **more) -> Scene:
    """Put a round of it on the page."""
    scene = scene_of(database, folder, **more)
    scene.run(1)
    return scene
