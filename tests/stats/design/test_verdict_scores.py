import numpy as np
import pytest

from monitor.stats.design.verdict_scores import verdict_scores

SCORE = np.array([0.55, 0.75, 0.95, 0.0005, 0.01, 0.2])
ITEMS = np.array([3e6, 3e6, 3e6, 9e7, 9e6, 9e6])
UP = SCORE > 0.5


def judged(tpr, fpr):
    """Strata that each cell's verdict of no, then of yes, makes; with what Bayes' rule says."""
    no, yes = (
        ITEMS * np.stack([SCORE * of_positive, (1 - SCORE) * of_negative])
        for of_positive, of_negative in ((1 - tpr, 1 - fpr), (tpr, fpr))
    )
    size = np.concatenate([no.sum(axis=0), yes.sum(axis=0)]).round().astype(np.int64)
    truth = np.concatenate([no[0] / no.sum(axis=0), yes[0] / yes.sum(axis=0)])
    sign, cell = np.repeat([-1.0, 1.0], 6), np.tile(np.arange(6), 2)
    return (size, np.tile(SCORE, 2), np.tile(UP, 2), sign, cell), truth


@pytest.mark.parametrize(
    ("tpr", "fpr"),
    [(0.9, 0.02), (0.6, 0.1), (np.where(UP, 0.95, 0.5), np.where(UP, 0.6, 0.01))],
    ids=["good", "weak", "shares mistakes"],
)
def test_scores_of_large_windows_follow_the_verdict_as_bayes_rule_says(tpr, fpr):
    columns, truth = judged(tpr, fpr)

    assert verdict_scores(*columns) == pytest.approx(truth, rel=0.02)


@pytest.mark.parametrize("tpr", [0.3, 0.2], ids=["useless", "turned round"])
def test_verdicts_that_do_not_rise_with_the_score_change_nothing(tpr):
    columns, _ = judged(tpr, 0.3)

    assert verdict_scores(*columns) == pytest.approx(columns[1])


def test_few_items_say_less_of_a_judge_than_many():
    (size, *columns), truth = judged(0.9, 0.02)
    few = verdict_scores(np.maximum(size // 30_000, 1), *columns)

    assert np.all(few[6:] < truth[6:])
    assert np.all(few[:6] > truth[:6])


def test_strata_without_items_or_a_verdict_keep_their_score():
    (size, score, up, sign, cell), _ = judged(0.9, 0.02)
    empty, unscored = size.copy(), score.copy()
    empty[6], unscored[[1, 7]], sign[[2, 8]] = 0, np.nan, 0.0

    result = verdict_scores(empty, unscored, up, sign, cell)

    assert result[[2, 6, 8]].tolist() == score[[2, 6, 8]].tolist()
    assert np.isnan(result[[1, 7]]).all()
    assert result[11] > score[11]
