"""Labeled items of several rounds as one sample, and the paired difference read from it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from monitor.stats.estimation.grouped_cells import RoundItems, summed_windows
from monitor.stats.estimation.paired import compare
from monitor.stats.estimation.summed_windows import compare_windows

FLAGGED = 2
SIZES = np.array(
    [[4000, 6000, 50_000, 10_000], [3000, 9000, 30_000, 30_000], [900, 600, 9000, 800]]
)
LABELED = np.array([[150, 150, 500, 300], [300, 90, 250, 500], [90, 200, 400, 150]])
RATES = np.array([[0.6, 0.92, 0.004, 0.10], [0.5, 0.9, 0.01, 0.2], [0.7, 0.95, 0.002, 0.15]])
"""Rounds whose sizes, plans and rates all changed."""


def rounds_of(seed=3):
    """The items of each round."""
    rng = np.random.default_rng(seed)
    found = []
    for size, labeled, rate in zip(SIZES, LABELED, RATES, strict=True):
        stratum = np.repeat(np.arange(4), labeled)
        positive = rng.random(len(stratum)) < rate[stratum]
        flags = rng.random(len(stratum)) < np.where(positive, 0.85, 0.02 + 0.1 * (stratum < 2))
        found.append(RoundItems(stratum, positive, flags, size, counted(stratum, flags, size)))
    return found


def rng():
    return np.random.default_rng(1)


def counted(stratum, flags, size):
    """What the challenger flags in each window, as far as the labels have it."""
    labeled = np.bincount(stratum, minlength=len(size))
    return np.bincount(stratum[flags], minlength=len(size)) * size // np.maximum(labeled, 1)


def plain(stratum, size):
    """Items of which only places matter."""
    nothing = np.zeros(len(stratum), dtype=bool)
    return RoundItems(np.array(stratum), nothing, nothing, np.array(size), 0 * np.array(size))


@pytest.mark.parametrize("cells", [False, True])
def test_an_item_stands_for_those_of_its_own_rounds_stratum(cells):
    rounds = rounds_of()

    sample = summed_windows(rounds, flagged=FLAGGED, cells=cells).sample

    weights = [(SIZES[t] / LABELED[t])[each.stratum] for t, each in enumerate(rounds)]
    assert sample.weight == pytest.approx(np.concatenate(weights), rel=1e-12)
    assert (sample.size == SIZES.sum(axis=0)).all()


def test_a_cell_that_a_round_left_out_is_taken_with_its_neighbours_there():
    first = plain(np.repeat([0, 1, 2], [10, 12, 20]), [50, 60, 900])
    second = plain(np.repeat([1, 2], [8, 20]), [80, 120, 700])

    sample = summed_windows([first, second], flagged=2, cells=True).sample

    assert sample.weight[sample.is_flagged].sum() == pytest.approx(50 + 60 + 80 + 120)
    assert sample.size.sum() == 1910


def test_a_round_without_a_label_in_a_class_is_refused():
    good, bad = plain([0, 1], [5, 50]), plain([1], [5, 50])

    with pytest.raises(ValueError, match="none of them is labeled"):
        summed_windows([good, bad], flagged=1, cells=True)


def samplics_differences(rounds):
    """Differences of precision and recall, and standard errors, by Taylor linearisation.

    Each round's strata are strata of their own, which is what was drawn from.
    """
    estimation = pytest.importorskip("samplics.estimation", reason="needs polars and pandas")
    types = pytest.importorskip("samplics.utils.types")
    own = np.concatenate([each.stratum < FLAGGED for each in rounds]).astype(float)
    other = np.concatenate([each.other for each in rounds]).astype(float)
    y = np.concatenate([each.positive for each in rounds]).astype(float)
    stratum = np.concatenate([4 * t + each.stratum for t, each in enumerate(rounds)])
    w = (SIZES / LABELED).ravel()[stratum]

    def taylor(param, **columns):
        found = estimation.TaylorEstimator(param)
        found.estimate(samp_weight=w, stratum=stratum, psu=np.arange(len(w)), **columns)
        return found.point_est, found.stderror

    recall = taylor(types.PopParam.ratio, y=y * (other - own), x=y)
    # of a difference of two ratios: the total of what each item moves it
    ratios = [(w * y * f).sum() / (w * f).sum() for f in (own, other)]
    moves = [f * (y - ratio) / (w * f).sum() for f, ratio in zip((own, other), ratios, strict=True)]
    precision = ratios[1] - ratios[0], taylor(types.PopParam.total, y=moves[1] - moves[0])[1]
    return {"precision": precision, "recall": recall}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("count", [1, 3], ids=["one round", "three rounds"])
@pytest.mark.parametrize("name", ["precision", "recall"])
def test_the_difference_is_that_of_samplics(count, name):
    rounds = rounds_of()[:count]
    point, error = samplics_differences(rounds)[name]
    sample = summed_windows(rounds, flagged=FLAGGED, cells=False).sample

    found = compare(
        sample,
        sample.is_flagged,
        np.concatenate([each.other for each in rounds]),
        metrics=(name,),
        rng=rng(),
    )

    difference: Any = found.metrics[0].difference
    width = 2 * 1.959964 * error
    assert difference.point == pytest.approx(point, abs=1e-12)
    # what differs between rounds is doubt here, and known to those who keep rounds apart
    assert 0.95 < (difference.high - difference.low) / width < 1.12
    assert difference.low == pytest.approx(point - width / 2, abs=width / 12)
    assert difference.high == pytest.approx(point + width / 2, abs=width / 12)


@pytest.mark.parametrize("cells", [False, True])
def test_what_the_other_flags_is_the_counted_number_and_narrows_the_answer(cells):
    rounds = rounds_of()
    sample = summed_windows(rounds, flagged=FLAGGED, cells=cells)[0]
    other = np.concatenate([each.other for each in rounds])

    found: Any = compare_windows(rounds, flagged=FLAGGED, cells=cells, rng=rng())
    uncounted: Any = compare(sample, sample.is_flagged, other, rng=rng())

    total = sum(each.other_flagged.sum() for each in rounds)
    assert found.second_flagged.low == pytest.approx(total)
    assert found.second_flagged.high == pytest.approx(total)
    narrow, wide = (each.metrics[0].second for each in (found, uncounted))
    assert narrow is not None
    assert wide is not None
    assert narrow.high - narrow.low < wide.high - wide.low


def test_a_stratum_that_the_other_flags_none_of_is_not_thought_to_hold_any():
    [one, *_] = rounds_of()
    clean = one.other & (one.stratum != 2)
    flagged = np.where(np.arange(4) == 2, 0, one.other_flagged)
    round_ = replace(one, other=clean, other_flagged=flagged)

    found = compare_windows([round_], flagged=FLAGGED, cells=False, rng=rng())

    assert found.only_second.high <= SIZES[0, 3]


def test_a_count_that_contradicts_the_labels_gives_way_to_them():
    size = np.array([20, 3000])  # all of the flagged are labeled
    stratum = np.repeat([0, 1], [20, 30])
    nothing = np.zeros(50, dtype=bool)
    one = RoundItems(stratum, stratum == 0, nothing, size, np.array([3, 0]))

    found = compare_windows([one], flagged=1, cells=False, rng=rng())

    assert (found.second_flagged.low, found.second_flagged.high) == (0, 0)


def test_what_no_label_tells_may_be_of_either_class():
    [one, *_] = rounds_of()
    clean = one.other & (one.stratum != 3)  # what it flags there, nobody labeled
    flagged = np.where(np.arange(4) == 3, 700, one.other_flagged)
    rounds = [replace(one, other=clean, other_flagged=flagged)]

    found: Any = compare_windows(rounds, flagged=FLAGGED, cells=False, rng=rng())

    recall = found.metrics[1].second
    positives = found.prevalence.point * SIZES[0].sum()
    assert 600 / positives < recall.high - recall.low < 800 / positives
