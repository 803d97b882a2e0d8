"""Histories of rounds that are drawn by score cells, from draw to closing and after."""

import pytest

from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Cells, Sample
from monitor.presentation.parts.segments import SEGMENTS
from monitor.rounds.forecast.compare import at_threshold
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.random_shares import log_e_path_of_shares, log_recovery_of_shares
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, REFERENCE, Scene, segmented, settings

POINTS = 2**10
CELLS = Sample(max_labels=360, cells=Cells(), bands=Bands(flagged=2, passed=4))
BANDS = Sample(max_labels=360, bands=Bands(flagged=2, passed=4))
SETTINGS = settings(sample=CELLS, limits=LIMITS)
WATCHED = ("precision", "recall")


@played
def quiet(database):
    """Three quiet rounds."""
    scene = Scene(database, SETTINGS)
    for number in (1, 2, 3):
        scene.play(number)
    return scene


def width(row):
    return row.high - row.low


def test_a_report_has_its_curves_and_its_cause(quiet):
    quiet.play(4, precision=0.5, share=0.3)

    report = quiet.report(4)
    assert report["curves"]["labeled"] == sum(cell["labeled"] for cell in report["cells"])
    assert report["cause"]["rounds"] == 3
    assert report["cause"]["after"][0] < report["cause"]["before"][0] - 0.15


def test_a_cell_of_which_all_was_declined_costs_the_round_no_more_than_its_labels(scene):
    scene.settings = settings(sample=CELLS)
    scene.draw(1)
    scene.answer()
    for item in scene.rows("select id from items where stratum = 'passed-30'"):
        scene.labeler.answers[item["id"]] = Answer.CANNOT_TELL
    scene.run()
    scene.settings = settings(sample=BANDS)
    scene.draw(2)

    report = scene.report(1)
    [cell] = [cell for cell in report["cells"] if cell["stratum"] == "passed-30"]
    assert (cell["labeled"], cell["declined"] > 0) == (0, True)
    assert report["curves"] is not None
    rows = scene.estimates(1)
    found, pooled = rows["recall", "round", "window"], rows["recall", "pooled", "rate"]
    assert found.is_worst_case
    assert found.low < found.point < found.high
    assert pooled.point == pytest.approx(found.point, abs=1e-9)
    [stored] = scene.rows(
        "select reference from histories where id = :id", id=scene.round(2).history_id
    )
    reference = stored["reference"]
    assert sum(n for name, (_, n) in reference.items() if name.startswith("passed")) > 100


def test_evidence_is_read_from_the_cells(quiet):
    first, second = quiet.tally(1), quiet.tally(2)
    rates = guess([first.counts])
    stored = quiet.rows(
        "select metric, log_e from evidence where round_id = :id", id=quiet.round(2).id
    )
    assert second.counts.size.size == 60
    for row in stored:
        bound = {"precision": 0.7, "recall": 0.4}[row["metric"]]
        limit, earlier = Limit(row["metric"], bound, "at_least"), [first.counts]
        wanted = log_e_path_of_shares(limit, [second.counts], rates, None, earlier)[-1]
        assert row["log_e"] == pytest.approx(wanted.tolist(), rel=1e-9)


def test_four_counts_let_a_first_round_gather_evidence_and_the_next_one_speak_of_recovery(scene):
    scene.settings = settings(sample=CELLS, limits=LIMITS, reference=REFERENCE)
    scene.play(1, precision=0.2)

    alert = scene.alerts()[0]
    assert alert.metric == "precision"
    found = scene.estimates(1)
    for metric in WATCHED:
        pooled, own = found[metric, "pooled", "rate"], found[metric, "round", "rate"]
        assert pooled.point == pytest.approx(own.point, abs=1e-9)
        assert (pooled.low, pooled.high) == pytest.approx((own.low, own.high), abs=0.01)

    scene.play(2, precision=0.95)

    first, second = scene.tally(1), scene.tally(2)
    limit, rates = Limit("precision", 0.7, "at_least"), guess([first.counts])
    [row] = scene.rows(
        "select log_recovery from evidence where metric = 'precision' and recovery_rounds = 1"
    )
    wanted = log_recovery_of_shares(limit, second.counts, rates, None, [first.counts])
    assert row["log_recovery"] == pytest.approx(wanted)
    assert scene.overview().recoveries[alert.id].within is not None


def test_segments_and_other_thresholds_are_read_from_the_cells(database):
    scene = segmented(database, columns=["client"], sample=CELLS)
    scene.week(1)
    for place, row in enumerate(scene.source.rows):
        row["client"] = f"client {place % 2}"
    scene.run(1)
    scene.finish(1)

    round_ = scene.round(1)
    whole, rows = scene.estimates(1), SEGMENTS.of(scene.round_report(1))
    with scene.database.read() as connection:
        compared = at_threshold(connection, round_, 0.7)
    assert len(scene.labels(1).labeled) == 360
    assert len(rows) == 4
    for row in rows:
        own = whole[row.metric, "round", "window"]
        assert row.low < own.point < row.high
        assert 0.8 * width(own) < width(row) < 4 * width(own)
        assert bool(row.more_round) == bool(row.more_segment)
    precision, recall = compared.comparison.metrics[:2]
    own = whole["precision", "round", "window"].point
    assert precision.first is not None
    assert recall.difference is not None
    assert precision.first.point == pytest.approx(own, abs=1e-9)
    assert recall.difference.high < 0
