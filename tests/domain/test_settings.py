"""What a round freezes: read also as older versions wrote it."""

from __future__ import annotations

import inspect
import json

import pytest
from pydantic import ValidationError

from monitor.domain.settings import CREDIBLE_LEVEL, POOLED_COVERAGE, Pooling, RoundSettings
from monitor.stats.curves.curve_draws import curve_bands
from monitor.stats.design.allocation import allocate
from monitor.stats.drift.attribution import precision_change
from monitor.stats.estimation.paired import compare, compare_threshold
from monitor.stats.estimation.posterior import estimates
from monitor.stats.estimation.prevalence import prevalence_curve
from monitor.stats.estimation.segment_labels import more_labels
from monitor.stats.estimation.segments import segment_estimates
from monitor.stats.history.robust_mixture import ROBUST_WEIGHT
from monitor.stats.labels.agreement import (
    cohen_kappa,
    disagreement,
    fleiss_kappa,
    krippendorff_alpha,
)
from monitor.stats.labels.label_error import corrected_estimates
from monitor.storage.round_store import _settings

FROZEN = {"schedule": {"cron": "0 6 * * MON"}, "deadline": "5d", "late_labels": "90d"}
OF_ROUNDS = (
    *(allocate, cohen_kappa, compare, compare_threshold, corrected_estimates, curve_bands),
    *(disagreement, estimates, fleiss_kappa, krippendorff_alpha, more_labels, precision_change),
    *(prevalence_curve, segment_estimates),
)


def test_a_round_of_an_older_version_that_froze_the_level_is_read():
    frozen = json.dumps({**FROZEN, "level": 0.95})

    settings = RoundSettings.model_validate_json(frozen)

    assert settings == RoundSettings.model_validate(FROZEN)
    assert "level" not in settings.model_dump()


def test_rounds_drawn_before_plans_had_a_share_by_size_and_an_assurance_are_read_without():
    now = RoundSettings.model_validate(FROZEN).sample
    before = _settings(json.dumps({**FROZEN, "sample": {"max_labels": 700}})).sample
    kept = _settings(json.dumps({**FROZEN, "sample": {"share_by_size": 0.1}})).sample

    assert (now.share_by_size, now.assurance) == (0.25, 0.8)
    assert (before.share_by_size, before.assurance, before.max_labels) == (0.0, None, 700)
    assert kept.share_by_size == 0.1


@pytest.mark.parametrize("level", [0.9, "0.95", None])
def test_another_level_is_refused_and_not_taken_for_the_one_there_is(level):
    with pytest.raises(ValidationError, match="level"):
        RoundSettings.model_validate({**FROZEN, "level": level})


def test_a_round_of_an_older_version_that_shifted_its_own_part_is_read_without_the_shift():
    pooling = {"hazard": 0.1, "restart": 3.0, "robust_weight": 0.16, "shift": 0.4}

    settings = RoundSettings.model_validate_json(json.dumps({**FROZEN, "pooling": pooling}))

    assert settings.pooling == Pooling(hazard=0.1, robust_weight=0.16)
    assert "shift" not in settings.model_dump()["pooling"]


def test_only_of_rounds_a_shift_is_read():
    with pytest.raises(ValidationError, match="shift"):
        Pooling.model_validate({"shift": 0.4})


def test_coverage_is_claimed_of_the_settings_it_was_measured_with_only():
    assert Pooling().robust_weight == ROBUST_WEIGHT
    assert Pooling().measured_coverage() == POOLED_COVERAGE
    assert Pooling(robust_weight=0.31).measured_coverage() is None
    assert Pooling(hazard=0.05).measured_coverage() is None
    assert Pooling(restart=4).measured_coverage() is None


def test_whatever_a_round_computes_is_at_the_level_that_its_report_names():
    levels = {of.__name__: inspect.signature(of).parameters["level"].default for of in OF_ROUNDS}

    assert levels == dict.fromkeys(levels, CREDIBLE_LEVEL)
