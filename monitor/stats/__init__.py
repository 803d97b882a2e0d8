"""The statistics: numbers in, numbers out, with numpy and scipy only.

From labels to estimates: ``Counts`` -> ``round_posterior`` -> ``estimates``. Before labels:
``band_edges`` cuts a class into strata, ``PriorRates`` says what is known of them, ``allocate``
turns it into labels per stratum. Over rounds: ``pool`` brings earlier ones forward,
``log_e_factor`` and ``Evidence`` watch a ``Limit``.

Some arguments mean the same everywhere and are described only here. ``size``, ``is_flagged`` are
the items of each stratum of the window and whether it is predicted positive, shape ``(H,)``;
``counts`` are the sizes and labels of a round; ``cells`` is whether its strata are score cells;
``posterior`` is the distribution of their rates, flagged strata first. ``metrics`` are names that
``metrics.metric`` knows, ``name`` is one of them; ``estimand`` is "rate", of the rates behind the
window, or "window", of the window's own items, and ``estimands`` are several; ``level`` is the
probability of each interval, in (0, 1). ``seed`` and ``rng`` are the source of randomness: the same
numbers in give the same numbers out. ``points``, a power of 2, ``draws`` and ``paths``
are how many draws there are. A value out of its range and a wrong shape are refused by a
ValueError that names them, but by ``Counts`` itself, which takes checked arrays.
"""

from monitor.stats.core.beta_mixture import BetaMixture
from monitor.stats.core.counts import Counts, Interval
from monitor.stats.core.draws import Draws, JointPosterior, draw, round_posterior
from monitor.stats.core.metrics import METRICS, Matrix, Metric, metric
from monitor.stats.core.reasons import (
    AuditAtChance,
    Contradiction,
    EmptyClass,
    Undefined,
    UndefinedDraws,
    Unlabeled,
)
from monitor.stats.core.sample import LabeledSample, ScoredSample
from monitor.stats.curves.curve_draws import CurveBands, curve_bands
from monitor.stats.design.allocation import Allocation, allocate
from monitor.stats.design.notes import BudgetShort, FloorsLowered, OutOfReach, Remark
from monitor.stats.design.planning import (
    LabelsNeeded,
    MarginsBought,
    PlanOptions,
    plan_options,
    random_sampling_labels,
)
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.design.score_bands import FLAGGED_BANDS, PASSED_BANDS, band_edges, band_of
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.delay import Detection, alarms, detection, smallest_drop
from monitor.stats.detection.e_detector import Evidence, log_e_factor, log_threshold
from monitor.stats.detection.half_space import Limit, LimitCannotBeTested
from monitor.stats.detection.power import AlertPower, alert_power, assumed_limits
from monitor.stats.detection.recovery import Recovery, log_recovery_factor
from monitor.stats.detection.scenario import Scenario
from monitor.stats.drift.attribution import PrecisionChange, Working, precision_change
from monitor.stats.drift.volume import ExpectedCount, expected_count
from monitor.stats.estimation.class_averages import ClassAverage, ClassAverages, class_averages
from monitor.stats.estimation.class_samples import ClassSample
from monitor.stats.estimation.paired import Comparison, PairedMetric, compare, compare_threshold
from monitor.stats.estimation.posterior import MetricEstimate, estimate, estimate_matrix, estimates
from monitor.stats.estimation.predictive import NextEstimate, next_estimates
from monitor.stats.estimation.prevalence import PrevalenceCurve, precision_at, prevalence_curve
from monitor.stats.estimation.segment_labels import MoreLabels, more_labels
from monitor.stats.estimation.segments import segment_estimates
from monitor.stats.estimation.small_counts import DecidingClass, FewLabels, small_count_caution
from monitor.stats.history.change_point import PoolingStep, pool, pooling_steps
from monitor.stats.history.robust_mixture import with_robust_weight
from monitor.stats.history.run_length import RunLength
from monitor.stats.labels.agreement import (
    Agreement,
    NoAgreement,
    cohen_kappa,
    disagreement,
    fleiss_kappa,
    krippendorff_alpha,
)
from monitor.stats.labels.audit import ClassAudits, LabelAudit, NoBetterThanChance
from monitor.stats.labels.label_error import corrected_estimates

__all__ = [
    "FLAGGED_BANDS",
    "METRICS",
    "PASSED_BANDS",
    "Agreement",
    "AlertPower",
    "Allocation",
    "AuditAtChance",
    "BetaMixture",
    "BudgetShort",
    "ClassAudits",
    "ClassAverage",
    "ClassAverages",
    "ClassSample",
    "Comparison",
    "Contradiction",
    "Counts",
    "CurveBands",
    "DecidingClass",
    "Detection",
    "Draws",
    "EmptyClass",
    "Evidence",
    "ExpectedCount",
    "FewLabels",
    "FloorsLowered",
    "Interval",
    "JointPosterior",
    "LabelAudit",
    "LabeledSample",
    "LabelsNeeded",
    "Limit",
    "LimitCannotBeTested",
    "MarginsBought",
    "Matrix",
    "Metric",
    "MetricEstimate",
    "MoreLabels",
    "NextEstimate",
    "NoAgreement",
    "NoBetterThanChance",
    "OutOfReach",
    "PairedMetric",
    "PlanOptions",
    "PoolingStep",
    "PrecisionChange",
    "PrevalenceCurve",
    "PriorRates",
    "Prospect",
    "Recovery",
    "Remark",
    "RunLength",
    "Scenario",
    "ScoredSample",
    "Undefined",
    "UndefinedDraws",
    "Unlabeled",
    "Working",
    "alarms",
    "alert_power",
    "allocate",
    "assumed_limits",
    "band_edges",
    "band_of",
    "class_averages",
    "cohen_kappa",
    "compare",
    "compare_threshold",
    "corrected_estimates",
    "curve_bands",
    "detection",
    "disagreement",
    "draw",
    "estimate",
    "estimate_matrix",
    "estimates",
    "expected_count",
    "fleiss_kappa",
    "guess",
    "krippendorff_alpha",
    "log_e_factor",
    "log_recovery_factor",
    "log_threshold",
    "metric",
    "more_labels",
    "next_estimates",
    "plan_options",
    "pool",
    "pooling_steps",
    "precision_at",
    "precision_change",
    "prevalence_curve",
    "random_sampling_labels",
    "round_posterior",
    "segment_estimates",
    "small_count_caution",
    "smallest_drop",
    "with_robust_weight",
]
