"""Sets that look as if they were drawn otherwise than it is said are warned about."""

import warnings

import numpy as np
import pandas as pd
import pytest

import monitor
from monitor.domain.errors import InputRefused
from tests.evaluation.sets import SIZES, cells, drawn_by_class


@pytest.mark.parametrize(
    ("frame", "said", "words"),
    [
        (
            drawn_by_class(),
            {"random": True},
            "1,000 flagged and 1,000 passed .* as many of each, so recall .* give its flagged_rate",
        ),
        (
            cells(860, 153, 22, 965),
            {"flagged_rate": 0.032},
            "50.6 % of the labeled .* 3.2 % of all",
        ),
        (drawn_by_class(), {"prevalence": 0.05}, "by predicted class. A prevalence .* give sizes"),
        (
            drawn_by_class(),
            {"weight": np.where(drawn_by_class().predicted == 1, 1.0, 0.03)},
            "no weight is over 1, and flagged items have larger ones .* give 1 / probability",
        ),
    ],
)
def test_a_balance_that_hardly_comes_by_chance_is_told(frame, said, words):
    with pytest.warns(UserWarning, match=words):
        found = monitor.evaluate(frame, predicted="predicted", **said)

    assert len(found.warnings) == 1
    assert f"WARNING: {found.warnings[0]}" in str(found)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (drawn_by_class(), "1,000 flagged and 1,000 passed .* as many of each, so recall would"),
        (cells(250, 50, 20, 680), "300 flagged and 700 passed .* round numbers of each"),
        (cells(300, 33, 50, 317), "350 positive and 350 negative .* so precision would"),
    ],
)
def test_a_chosen_balance_is_refused_unless_it_is_said_to_be_random(frame, words):
    with pytest.raises(InputRefused, match=f"{words}.* give random"):
        monitor.evaluate(frame, predicted="predicted")


@pytest.mark.parametrize("twice", ["label", "predicted", "weight"])
def test_two_columns_of_one_name_are_refused_by_name(twice):
    frame = drawn_by_class().assign(weight=1.0)
    double = pd.concat([frame, frame[[twice]]], axis=1)

    with pytest.raises(InputRefused, match=f"names the column '{twice}'.* 2 columns of that name"):
        monitor.evaluate(double, predicted="predicted", weight="weight")


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (drawn_by_class(), {"sizes": SIZES}),
        (drawn_by_class(), {"weight": np.repeat([160.0, 4840.0], 1000)}),
        (drawn_by_class(), {"flagged_rate": 0.5}),  # it may flag half
        (cells(138, 22, 108, 4732), {}),
        (cells(138, 22, 108, 4732), {"flagged_rate": 0.03}),
        (cells(860, 153, 22, 965), {}),  # nothing to see, whatever the truth is
        (cells(9, 3, 2, 10), {}),
        (cells(393, 21, 307, 1279), {"prevalence": 0.02}),
    ],
)
def test_all_else_is_let_be(frame, said):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = monitor.evaluate(frame, predicted="predicted", **said)

    assert found.warnings == ()


def test_scores_in_the_wrong_order_are_told():
    frame = cells(138, 22, 108, 732)
    frame["score"] = 1 - frame.score

    with pytest.warns(UserWarning, match="positives have lower scores than negatives"):
        monitor.evaluate(frame, predicted="predicted", score="score", flagged_rate=0.16)


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (lambda score, i: np.where(i % 20 == 0, -1, score), "50 of 1000 scores are -1, far below"),
        (lambda score, i: np.where(i % 2 == 0, 100 * score, score), "if some are in percent"),
    ],
)
def test_scores_that_are_none_or_of_two_scales_are_told(score, words):
    frame = cells(138, 22, 108, 732).sample(frac=1, random_state=0)
    frame["score"] = score(np.linspace(0.01, 0.99, 1000), np.arange(1000))

    with pytest.warns(UserWarning, match=words):
        monitor.evaluate(frame, score="score", threshold=0.5, random=True)
