"""The same labels by other samplers: stratified importance sampling, and plain random sampling.

Classifiers that scikit-learn trains on 30 % of its data sets; the rest is the window. `sis` is
stratified importance sampling (Lopez de Haro and Marsigli, arXiv 2601.22326) at its best of 1, 2,
3 and 5 strata by score, with draws in proportion to sqrt(p (1 - p)), the spread of the answer by
the score, mixed with a share of equal draws, .1, .3 or .5; labels by Neyman's rule for that spread.
`ours` is a first round by score cells, planned for precision and recall. Numbers are
the mean squared error of a random sample of as many labels, over the method's: how many labels of
such a sample one label replaces. Precision and recall by `sis` are ratios of weighted sums.

`--data` is a folder that may hold MNIST's test images, `t10k-images-idx3-ubyte.gz` and
`t10k-labels-idx1-ubyte.gz`, and UCI's credit card defaults, `UCI_Credit_Card.csv`. Both are public
and not part of this repository. `net` is a neural network of scikit-learn, which errs less.
"""

import gzip
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import Flags, Values, Whole
from benchmarks.real_data import Strata, Window, cut, first_rounds

DIGITS = (3, 8)
NAMES = ("accuracy", "precision", "recall")
STRATA, EQUAL = (1, 2, 3, 5), (0.1, 0.3, 0.5)
COUNTED = 4  # tp, fp, fn, tn
THRESHOLD = 0.3  # at .5 these classifiers raise no false alarm, and there is nothing to estimate


def main(
    labels: tuple[int, ...] = (50, 100), replicates: int = 2000, data: Path | None = None
) -> None:
    """Print a line for each data set and number of labels."""
    heads = "".join(f"{f'{name}: sis':>15}{'ours':>7}{'covered':>9}" for name in NAMES)
    print(f"{'':<14}{'items':>6}{'labels':>7}{heads}")
    for window in windows(data):
        for budget in labels:
            rng = np.random.default_rng(budget)
            print(f"{window.name:<14}{len(window.score):6}{budget:7}", end="")
            print(compared(window, budget, replicates, rng))


def windows(data: Path | None) -> Iterator[Window]:
    """Yield a window of each data set: one digit against the rest, tumors, and unpaid credits."""
    for name, (features, actual) in data_sets(data).items():
        train, rest, known, true = train_test_split(
            features, actual, train_size=0.3, random_state=1, stratify=actual
        )
        kind = MLPClassifier(random_state=1) if "net" in name else LogisticRegression(C=0.01)
        model = make_pipeline(StandardScaler(), kind).fit(train, known)
        score = model.predict_proba(rest)[:, 1]
        yield Window(name, score, score >= THRESHOLD, true)


def data_sets(data: Path | None) -> dict[str, tuple[Values, Flags]]:
    """Return features and actual class by name: scikit-learn's sets, then those in the folder."""
    tumors, digits = load_breast_cancer(), load_digits()
    sets = {"breast cancer": (tumors.data, tumors.target == 0)}
    sets |= {f"digit {one}": (digits.data, digits.target == one) for one in DIGITS}
    if data is None:
        return sets
    images, credits_ = data / "t10k-images-idx3-ubyte.gz", data / "UCI_Credit_Card.csv"
    if images.exists():
        pixels = idx(images, 16).reshape(-1, 28 * 28).astype(np.float64)
        digit = idx(data / "t10k-labels-idx1-ubyte.gz", 8)
        sets |= {f"MNIST {one}": (pixels, digit == one) for one in DIGITS}
        sets["MNIST 8 net"] = sets["MNIST 8"]
    if credits_.exists():
        table = np.loadtxt(credits_, delimiter=",", skiprows=1)
        sets["credit default"] = (table[:, 1:-1], table[:, -1] == 1)
    return sets


def idx(file: Path, header: int) -> NDArray[np.uint8]:
    """Read the bytes of a packed idx file after its header."""
    with gzip.open(file) as packed:
        return np.frombuffer(packed.read(), dtype=np.uint8, offset=header)


def compared(window: Window, labels: int, replicates: int, rng: np.random.Generator) -> str:
    """Describe the error of each method beside a random sample's."""
    truth = metrics(cells_of(window).sum(axis=0, keepdims=True))[0]
    plain = errors(np.array([random_sample(window, labels, rng) for _ in range(replicates)]), truth)
    ways = [
        errors(sis(window, labels, *way, replicates, rng), truth) for way in product(STRATA, EQUAL)
    ]
    points, covered = ours(cut(window, labels), labels, replicates, rng)
    theirs, own = np.nanmin(ways, axis=0), errors(points, truth)
    held = ["", *(f"{share:.3f}" for share in covered)]
    return "".join(
        f"{plain[i] / theirs[i]:15.2f}{plain[i] / own[i]:7.2f}{held[i]:>9}"
        for i in range(len(NAMES))
    )


def errors(points: Values, truth: Values) -> Values:
    """Mean squared error of each metric; a sample in which one has no value counts as 0."""
    return np.asarray(((np.nan_to_num(points) - truth) ** 2).mean(axis=0))


def cells_of(window: Window) -> Values:
    """Which cell of the confusion matrix each item is in, shape ``(items, 4)``."""
    up, true = window.is_flagged, window.is_positive
    return np.array([up & true, up & ~true, ~up & true, ~up & ~true], dtype=np.float64).T


def metrics(matrix: Values) -> Values:
    """Return accuracy, precision and recall of matrices, shape ``(..., 3)``."""
    tp, fp, fn, tn = np.moveaxis(matrix, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack([(tp + tn) / (tp + fp + fn + tn), tp / (tp + fp), tp / (tp + fn)], axis=-1)


def random_sample(window: Window, labels: int, rng: np.random.Generator) -> Values:
    """Estimate from items drawn at random, without replacement."""
    drawn = rng.choice(len(window.score), labels, replace=False)
    return metrics(cells_of(window)[drawn].sum(axis=0))


def sis(
    window: Window, labels: int, strata: int, equal: float, times: int, rng: np.random.Generator
) -> Values:
    """Estimate from importance samples within strata by the score's spread, ``(times, 3)``."""
    spread = np.sqrt(window.score * (1 - window.score))
    rank = np.argsort(np.argsort(spread, kind="stable"), kind="stable")
    members = [np.flatnonzero(rank * strata // len(rank) == one) for one in range(strata)]
    share = np.array([spread[own].sum() for own in members]) / spread.sum()
    cells = [cells_of(window)[own] for own in members]
    chances = [(1 - equal) * spread[own] / spread[own].sum() + equal / len(own) for own in members]
    matrix = np.zeros((times, COUNTED))
    for at in range(times):
        draws = np.maximum(1, whole(share * labels, rng))
        for chance, of_items, wanted in zip(chances, cells, draws, strict=True):
            drawn = rng.choice(len(chance), wanted, p=chance)
            matrix[at] += (of_items[drawn] / chance[drawn, np.newaxis]).mean(axis=0)
        matrix[at, :2] *= known_share(matrix[at, :2].sum(), window.is_flagged)
        matrix[at, 2:] *= known_share(matrix[at, 2:].sum(), ~window.is_flagged)
    return metrics(matrix)


def known_share(found: float, members: Flags) -> float:
    """Scale a class to its true size, which needs no label."""
    return float(members.sum() / found) if found > 0 else 0.0


def whole(expected: Values, rng: np.random.Generator) -> Whole:
    """Round numbers at random, so that each keeps its mean."""
    return np.asarray(np.floor(expected + rng.random(len(expected))), dtype=np.int64)


def ours(
    strata: Strata, labels: int, replicates: int, rng: np.random.Generator
) -> tuple[Values, Values]:
    """Points of first rounds by score cells, and the share of intervals that hold the truth."""
    _, _, found = first_rounds(strata, labels, replicates, rng)
    up, size = strata.is_flagged, strata.size
    flagged, passed = float(size[up].sum()), float(size[~up].sum())
    precision, recall = found.point
    tp = precision * flagged
    fn = tp * (1 / recall - 1)
    accuracy = (tp + passed - fn) / (flagged + passed)
    covered = 1 - np.nanmean(found.below, axis=1) - np.nanmean(found.above, axis=1)
    return np.stack([accuracy, precision, recall], axis=-1), covered
