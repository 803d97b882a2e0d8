"""Many histories pooled at once, of which only the last step counts: each as if it were alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from monitor.stats.history import change_point
from monitor.stats.history.change_point import ClassHistory, last_steps, pooling_steps
from monitor.stats.history.run_length import RunLength

SETTINGS = RunLength(hazard=0.1, restart=2.0)


@st.composite
def class_histories(draw, strata=2):
    rounds = draw(st.integers(1, 14))
    shape = (rounds + 1, strata)
    labeled = draw(arrays(float, shape, elements=st.sampled_from([0.0, 0.0, 1.5, 20.0, 61.2])))
    labeled[1:][draw(arrays(bool, rounds))] = 0  # rounds without any label take no step
    positive = labeled * draw(arrays(float, shape, elements=st.floats(0, 1, width=16)))
    return ClassHistory(positive[1:], labeled[1:], positive[0], labeled[0])


def alone(history):
    return pooling_steps(
        list(zip(history.positive, history.labeled, strict=True)),
        reference=(history.reference_positive, history.reference_labeled),
        settings=SETTINGS,
    )


def parts(mixture):
    return mixture.weight.tolist(), mixture.alpha.tolist(), mixture.beta.tolist()


@settings(max_examples=40)
@given(st.lists(class_histories(), min_size=1, max_size=6))
def test_each_ends_bit_for_bit_as_it_does_alone(histories):
    found = last_steps(histories, SETTINGS)

    for history, end in zip(histories, found, strict=True):
        *before, last = alone(history)
        assert parts(end.step.mixture) == parts(last.mixture)
        assert end.step.started.tolist() == last.started.tolist()
        if before:
            assert parts(end.before) == parts(before[-1].mixture)
    assert last_steps([], SETTINGS) == []


@pytest.mark.parametrize("at_once", [1, 7])
def test_more_histories_than_go_at_once_end_in_the_order_in_which_they_were_given(
    monkeypatch, at_once
):
    monkeypatch.setattr(change_point, "AT_ONCE", at_once)
    rng = np.random.default_rng(5)
    labeled = np.full((20, 1), 30.0)
    positive = rng.binomial(30, 0.2, (20, 1)).astype(float)
    nothing = np.zeros(1)
    lengths = [3, 20, 1, 11, 20, 4, 9, 8, 17]
    histories = [ClassHistory(positive[:t], labeled[:t], nothing, nothing) for t in lengths]

    found = last_steps(histories, SETTINGS)

    assert [parts(end.step.mixture) for end in found] == [
        parts(alone(history)[-1].mixture) for history in histories
    ]
