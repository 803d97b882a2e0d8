"""How often ordinary windows are reported for fewer rows, and how often lost rows are found.

Counts vary by `cv` beyond chance, by a factor of the window that its segments share or of each
segment. `all` is the share of ordinary windows with a notice, to be .01 at most; `-30 %` finds the
loss of three in ten of all rows, `gone` that of the largest segment.
"""

import itertools

import numpy as np

from benchmarks.harness import Values
from monitor.rounds.sampling.baseline import reported

ROWS = 5000
HISTORIES = (4, 8, 12)
TRENDS = (0.0, 0.03, -0.03)


def main(histories: int = 900) -> None:
    """Print a table."""
    print("windows  segments  factor               cv     all (largest trend)  -30 %   gone")
    laws = (("gamma", "shared"), ("gamma", "own"), ("lognormal", "shared"))
    for windows, segments, law, cv in itertools.product(
        HISTORIES, (1, 10), laws, (0.0, 0.05, 0.2, 0.3)
    ):
        if (cv == 0 and law != laws[0]) or (segments == 1 and law[1] == "own"):
            continue
        rates = [
            rates_of(windows, segments, law, cv, trend, histories // len(TRENDS))
            for trend in TRENDS
        ]
        false = [each[0] for each in rates]
        _, total, gone = np.mean(rates, axis=0)
        print(
            f"{windows:7}{segments:10}  {' '.join(law):20} {cv:4.2f}   "
            f"{np.mean(false):.4f} ({max(false):.4f})      {total:.2f}    {gone:.2f}"
        )


def rates_of(
    windows: int, segments: int, law: tuple[str, str], cv: float, trend: float, histories: int
) -> list[float]:
    """Shares of ordinary windows, of those that lost rows and of those that lost a segment."""
    rng, noticed = np.random.default_rng(5), []
    for _ in range(histories):
        counts = series(rng, windows + 1, segments, law, cv, trend)
        *before, now = [_named(row) for row in counts]
        less = rng.binomial(counts[-1].astype(int), 0.7)
        without = counts[-1] * (np.arange(segments) > 0)
        noticed.append([bool(reported(each, before)) for each in
                        (now, _named(less), _named(without))])  # fmt: skip
    return [float(share) for share in np.mean(noticed, axis=0)]


def series(
    rng: np.random.Generator, windows: int, segments: int, law: tuple[str, str], cv: float,
    trend: float,
) -> Values:  # fmt: skip
    """Rows of each segment in each window, oldest first, shape ``(windows, segments)``."""
    shape = (windows, 1 if law[1] == "shared" else segments)
    factor = np.ones(shape)
    if cv > 0 and law[0] == "gamma":
        factor = rng.gamma(cv**-2, cv**2, shape)
    elif cv > 0:
        spread = np.sqrt(np.log1p(cv**2))
        factor = np.exp(rng.normal(-(spread**2) / 2, spread, shape))
    mean = ROWS / segments * np.exp(trend * np.arange(windows))[:, np.newaxis]
    return rng.poisson(np.broadcast_to(mean * factor, (windows, segments))).astype(float)


def _named(row: Values) -> dict[tuple[str, str] | None, float]:
    return {None: float(row.sum()), **{("desk", f"{i}"): float(y) for i, y in enumerate(row)}}
