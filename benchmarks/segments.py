"""Coverage and width of segment intervals, by size of the segment and by prior.

Six segments hold 40 to 1 % of every band. They are equal, or their log odds differ by a normal
amount of sd .5 per class, or one is worse in both classes. `own` takes every cell of stratum
and segment alone, `ours` is `monitor.stats.estimation.segments`.
"""

from collections.abc import Callable

import numpy as np
from scipy import special

from benchmarks import label_error
from benchmarks.harness import Values, Whole
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import JointPosterior, round_posterior
from monitor.stats.estimation.posterior import estimates
from monitor.stats.estimation.segments import segment_posterior

Prior = Callable[[Counts, Counts], JointPosterior]


SHARES = np.array([0.40, 0.30, 0.15, 0.10, 0.04, 0.01])
METRICS = ("precision", "recall")
WORSE = {"x 2, of 10 %": (3, 0.7), "x 4.5, of 4 %": (4, 1.5), "x 4.5, of 15 %": (2, 1.5)}
"""Place of the segment that is worse, and by how much in the log odds."""
POINTS = 2**9


class Design(label_error.Design):
    """Strata of the window and the labels of a round, shape ``(H,)``."""

    def segment_sizes(self) -> Whole:
        """Items of each segment and stratum, shape ``(S, H)``."""
        rest = np.round(self.size * SHARES[1:, np.newaxis]).astype(np.int64)
        return np.vstack([self.size - rest.sum(axis=0), rest])


_ALL = label_error.BANDS
BANDS = Design("3 + 5 bands", _ALL.rate, _ALL.size // 5, _ALL.labels, _ALL.is_flagged)


def _two_strata() -> Design:
    up = BANDS.is_flagged
    size = np.array([BANDS.size[up].sum(), BANDS.size[~up].sum()])
    positive = BANDS.rate * BANDS.size
    rate = np.array([positive[up].sum(), positive[~up].sum()]) / size
    return Design("1 + 1 strata", rate, size, np.array([307, 1943]), np.array([True, False]))


def own(segment: Counts, whole: Counts) -> JointPosterior:
    """Take every cell alone."""
    del whole
    return round_posterior(segment)


PRIORS: dict[str, Prior] = {"own": own, "ours": segment_posterior}


def shifts(scenario: str, design: Design, rng: np.random.Generator) -> Values:
    """How each segment's log odds differ, shape ``(S, H)``."""
    found = np.zeros((len(SHARES), len(design.size)))
    up = design.is_flagged
    if scenario == "differ":
        found[:, up] = rng.normal(0, 0.5, (len(SHARES), 1))
        found[:, ~up] = rng.normal(0, 0.5, (len(SHARES), 1))
    elif scenario in WORSE:
        chosen, by = WORSE[scenario]
        found[chosen, up], found[chosen, ~up] = -by, by
    return found


def sampled(
    design: Design, rate: Values, size: Whole, labels: Whole, rng: np.random.Generator
) -> tuple[Whole, Whole]:
    """Labels and positives of each segment and stratum of one round, shape ``(S, H)`` each."""
    labeled = np.array(
        [
            rng.multivariate_hypergeometric(size[:, h], min(labels[h], size[:, h].sum()))
            for h in range(len(design.size))
        ]
    ).T
    return labeled, rng.binomial(labeled, rate)


def rates_covered(design: Design, scenario: str, replicates: int) -> dict[tuple[str, str], Values]:
    """Cover and width per prior and metric, shape ``(replicates, S, 2)``."""
    rng = np.random.default_rng(7)
    size = design.segment_sizes()
    found = {(p, m): np.empty((replicates, len(SHARES), 2)) for p in PRIORS for m in METRICS}
    for replicate in range(replicates):
        rate = special.expit(special.logit(design.rate) + shifts(scenario, design, rng))
        labeled, positive = sampled(design, rate, size, design.labels, rng)
        whole = design.counts(size.sum(axis=0), labeled.sum(axis=0), positive.sum(axis=0))
        for s in range(len(SHARES)):
            segment = design.counts(size[s], labeled[s], positive[s])
            for prior, posterior in PRIORS.items():
                rows = estimates(
                    segment,
                    estimands=("rate",),
                    posterior=posterior(segment, whole),
                    points=POINTS,
                    basis="pooled",  # shows an interval even without a label
                )
                for row in rows:
                    truth = design.value(row.metric, rate[s] * size[s], size[s])
                    low, high = row.low or 0.0, 1.0 if row.high is None else row.high
                    found[prior, row.metric][replicate, s] = low <= truth <= high, high - low
    return found


def main(replicates: int = 400) -> None:
    """Print coverage and width per design, scenario, prior and metric."""
    shares = " ".join(f"{share:6.0%}" for share in SHARES)
    print(f"{'':44}coverage{'':36}width")
    print(f"{'strata':12}  {'segments':14}  {'prior':6}  {'metric':9}{shares}  {shares}")
    for design in (BANDS, _two_strata()):
        for scenario in ("alike", "differ", *WORSE):
            for (prior, name), values in rates_covered(design, scenario, replicates).items():
                cover, width = values.mean(axis=0).T
                cells = "  ".join(
                    " ".join(f"{v:6.3f}" for v in column) for column in (cover, width)
                )
                print(f"{design.name:12}  {scenario:14}  {prior:6}  {name:9}{cells}")
