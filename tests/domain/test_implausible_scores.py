"""Codes for a missing score and scores of two scales are told from those of classifiers."""

import numpy as np
import pytest

from monitor.domain.implausible_scores import implausible_scores

RNG = np.random.default_rng(5)
SHARES = RNG.beta(0.5, 4, 500)
LOG_ODDS = RNG.normal(-3, 2, 500)


@pytest.mark.parametrize(
    ("scores", "threshold", "words"),
    [
        ([*SHARES, -1, -1], 0.5, "2 of 502 scores are -1, far below all others"),
        ([*SHARES, *[99] * 9], 0.5, "9 of 509 scores are 99, far above all others"),
        ([*LOG_ODDS, *[-999] * 3], 0.0, "3 of 503 scores are -999"),
        ([*SHARES, *(100 * RNG.uniform(0, 1, 50))], 0.5, "if some are in percent"),
        (RNG.uniform(2, 100, 50), 0.5, "if some are in percent"),
    ],
)
def test_what_is_no_score_is_told(scores, threshold, words):
    assert words in str(implausible_scores(scores, threshold))


@pytest.mark.parametrize(
    ("scores", "threshold"),
    [
        (SHARES, 0.5),
        (100 * SHARES, 50),
        (LOG_ODDS, 0.0),
        (np.abs(LOG_ODDS), 0.5),  # distances
        ([*SHARES, -1], 0.5),  # one alone
        ([0, 1, 1, 0, 1], 0.5),
        ([-1, 1, 1, -1], 0.0),
        (RNG.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 500), 0.0),
        ([*RNG.normal(0, 1, 500), -4, -4], 0.0),
        ([], 0.5),
    ],
)
def test_scores_as_classifiers_have_them_are_let_be(scores, threshold):
    assert implausible_scores(list(scores), threshold) is None
