"""R1 for rounds that stop at their margins: killed at each point from the answers to the end."""

from __future__ import annotations

from monitor.domain.state import RoundState
from monitor.stats.estimation.stopping import looks
from tests.rounds.test_stopping import answer, in_order
from tests.service.pages.stops import drawn
from tests.workers import lives_until_one_is_whole

# Each line is a life in which a round that was answered beyond its end is read, stopped and closed;
# it kills itself at its n-th crash point.
LIVES = """
import signal
from itertools import count
from pathlib import Path

import structlog

from monitor.domain import crashpoint
from monitor.storage.database import Database
from tests.service.pages.stops import scene_of

structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
url, folder = sys.argv[1], Path(sys.argv[2])


def live(last):
    points = count(1)

    def point(_):
        if next(points) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    scene = scene_of(Database(url), folder)
    crashpoint.hook = point
    scene.run(1)


lives(live)
"""


def test_a_round_stops_once_at_the_same_label_wherever_it_is_killed(
    database, tmp_path, tell_figures
):
    scene = drawn(database, tmp_path)
    rows = in_order(scene)
    answered = max(looks(len(rows))) + 5
    answer(scene, rows[:answered])
    url = database.engine.url.render_as_string(hide_password=False)

    codes = list(lives_until_one_is_whole(LIVES, url, tmp_path))

    closed = scene.round(1)
    assert closed.stopped is not None
    end = closed.stopped.kept
    counted = scene.rows("select version, sum(labeled) n, sum(positive) y from counts group by 1")
    events = [row["reason"] for row in scene.rows("select reason from round_events")]
    stops = scene.rows("select kept, planned from stopped_rounds")
    said = scene.rows("select count(*) n, count(distinct external_id) d from label_events")
    assert len(codes) > 6
    assert closed.state is RoundState.CLOSED
    assert end in looks(len(rows))
    positive = sum(scene.truth[row["item_id"]] == "1" for row in rows[:end])
    assert counted == [{"version": 1, "n": end, "y": positive}]
    assert stops == [{"kept": end, "planned": len(rows)}]
    assert events[2:] == [f"stopped at {end} of {len(rows)} labels: margins held"] * 2
    assert said == [{"n": answered, "d": answered}]
    tell_figures(
        "R1",
        what=f"kill -9 while a round stops at its margins, {database.engine.dialect.name}",
        size=f"{len(codes) - 1} kills",
        violations=0,
    )
