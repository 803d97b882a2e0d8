"""Revision 0008 keeps what older versions read, and going back leaves rows that those can read."""

from alembic import command

from monitor.domain.sample_settings import Bands, Sample
from monitor.storage import schema
from tests.rounds.scene import LIMITS, Scene, settings


def test_going_back_gives_rounds_read_since_a_value_by_which_no_alert_ends(database):
    sample = Sample(max_labels=60, bands=Bands(flagged=1, passed=1))
    scene = Scene(database, settings(limits=LIMITS, sample=sample))
    scene.play(1, count=400)
    before = scene.rows("select recovered from evidence")

    with database.write() as connection:
        command.downgrade(schema.alembic_config(connection), "0007")
    after = scene.rows("select * from evidence")
    schema.upgrade(database)

    assert [row["recovered"] for row in before] == [None, None]
    assert [row["recovered"] for row in after] == [0.0, 0.0]
    assert not {"log_recovery", "recovery_rounds", "log_r"} & set(after[0])
    assert scene.play(2, count=400).state == "closed"
