"""Runs of labels in the order of time: what is read, and items of one time."""

from datetime import timedelta

import numpy as np
import pytest

from monitor.domain.model import Window
from monitor.rounds.parts.runs import find_runs
from monitor.testing import MemorySource
from tests.rounds.scene import MONDAY

WEEK = Window(MONDAY, MONDAY + timedelta(days=7))


@pytest.mark.parametrize(("step", "is_noted"), [(timedelta(minutes=1), True), (timedelta(), False)])
def test_ids_in_the_order_of_scores_make_no_runs_where_a_batch_job_has_one_time(step, is_noted):
    rate = np.linspace(0.2, 1, 400)
    positive = np.random.default_rng(1).random(400) < rate
    labels = {f"{i:03}": bool(each) for i, each in enumerate(positive)}
    source = MemorySource([{"id": id_, "time": MONDAY + int(id_) * step} for id_ in labels])

    runs = find_runs(source, WEEK, {True: labels, False: {}})

    assert (runs is not None) == is_noted
