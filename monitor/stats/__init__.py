"""The statistics: numbers in, numbers out, with numpy and scipy only.

From labels to estimates: ``Counts`` -> ``round_posterior`` -> ``estimates``. Before labels:
``band_edges`` cuts a class into strata, ``Knowledge`` says what is known of them, ``allocate``
turns it into labels per stratum. Over rounds: ``carry`` brings earlier ones forward,
``log_e_factor`` and ``Evidence`` watch a ``Limit``.
"""

from monitor.stats.allocation import Allocation, allocate, random_sampling_labels
from monitor.stats.bands import (
    FLAGGED_BANDS,
    PASSED_BANDS,
    band_edges,
    band_of,
    look_like_probabilities,
)
from monitor.stats.carryover import CarryStep, carry, carry_steps
from monitor.stats.counts import Counts, Interval, StratumCounts
from monitor.stats.detector import (
    Evidence,
    alternatives,
    check_testable,
    guess,
    log_e_factor,
    log_threshold,
    project,
)
from monitor.stats.draws import Draws, Estimand, JointPosterior, draw, draw_rates, round_posterior
from monitor.stats.half_space import HalfSpace, Limit, LimitCannotBeTested, half_space
from monitor.stats.knowledge import Knowledge
from monitor.stats.metrics import METRICS, Matrix, Metric, MetricValue, f_beta, metric
from monitor.stats.missing import missing_bounds
from monitor.stats.mixture import BetaMixture
from monitor.stats.posterior import (
    Basis,
    MetricEstimate,
    estimate,
    estimates,
    unlabeled_share,
)
from monitor.stats.probability import metric_quantile, probability_at_least, probability_at_most
from monitor.stats.quick import estimate_matrix

__all__ = [
    "FLAGGED_BANDS",
    "METRICS",
    "PASSED_BANDS",
    "Allocation",
    "Basis",
    "BetaMixture",
    "CarryStep",
    "Counts",
    "Draws",
    "Estimand",
    "Evidence",
    "HalfSpace",
    "Interval",
    "JointPosterior",
    "Knowledge",
    "Limit",
    "LimitCannotBeTested",
    "Matrix",
    "Metric",
    "MetricEstimate",
    "MetricValue",
    "StratumCounts",
    "allocate",
    "alternatives",
    "band_edges",
    "band_of",
    "carry",
    "carry_steps",
    "check_testable",
    "draw",
    "draw_rates",
    "estimate",
    "estimate_matrix",
    "estimates",
    "f_beta",
    "guess",
    "half_space",
    "log_e_factor",
    "log_threshold",
    "look_like_probabilities",
    "metric",
    "metric_quantile",
    "missing_bounds",
    "probability_at_least",
    "probability_at_most",
    "project",
    "random_sampling_labels",
    "round_posterior",
    "unlabeled_share",
]
