"""What a round freezes."""

import inspect

import pytest
from pydantic import ValidationError

from monitor.domain.settings import CREDIBLE_LEVEL, POOLED_COVERAGE, Pooling, RoundSettings
from monitor.stats.core.levels import LEVEL
from monitor.stats.curves.curve_draws import curve_bands
from monitor.stats.design.allocation import allocate
from monitor.stats.drift.attribution import precision_change
from monitor.stats.estimation.paired import compare
from monitor.stats.estimation.posterior import estimates
from monitor.stats.history.robust_mixture import ROBUST_WEIGHT

FROZEN = {"schedule": {"cron": "0 6 * * MON"}, "deadline": "5d", "late_labels": "90d"}
OF_ROUNDS = (*(allocate, compare, curve_bands, estimates, precision_change),)


@pytest.mark.parametrize("level", [0.9, "0.95", None])
def test_a_level_is_refused_since_there_is_one(level):
    with pytest.raises(ValidationError, match="level"):
        RoundSettings.model_validate({**FROZEN, "level": level})


def test_coverage_is_claimed_of_the_settings_it_was_measured_with_only():
    assert Pooling().robust_weight == ROBUST_WEIGHT
    assert Pooling().measured_coverage() == POOLED_COVERAGE
    assert Pooling(robust_weight=0.31).measured_coverage() is None
    assert Pooling(hazard=0.05).measured_coverage() is None
    assert Pooling(restart=4).measured_coverage() is None


def test_whatever_a_round_computes_is_at_the_level_that_its_report_names():
    levels = {of.__name__: inspect.signature(of).parameters["level"].default for of in OF_ROUNDS}

    assert levels == dict.fromkeys(levels, CREDIBLE_LEVEL)
    assert LEVEL == CREDIBLE_LEVEL
