"""Labels that a second model saves on real texts, and intervals against the truth.

A classifier learns from the words of one half of the items, or of 2,000 of them. A judge learns
from that half too: `characters` by logistic regression on groups of 2 to 5, `bayes` by naive Bayes
on words and pairs. Each says yes as often as the half has positives, or `5 x` as often. The other
half is the traffic, drawn with replacement. `a person` is one of those who labeled an item, and is
part of its truth. `class` is the same without the score. The folder holds what `DATA` names.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import Pipeline, make_pipeline

from benchmarks import cells
from benchmarks.cells import CELLS
from benchmarks.harness import Flags, Values
from benchmarks.judge import HALF, SHARE, START, JudgedDesign, fitted
from benchmarks.label_cost import Population
from monitor.stats.design.recalibration import Cut
from monitor.stats.design.score_bands import band_of

DATA = """tweets: hate speech in tweets (Davidson et al. 2017), MIT licence; labeled_data.csv of
    github.com/t-davidson/hate-speech-and-offensive-language
anger, gratitude: emotions in comments, GoEmotions (Demszky et al. 2020), CC BY 4.0; train.tsv,
    dev.tsv and test.tsv of github.com/google-research/google-research, goemotions/data"""
SETS = ("tweets", "anger", "gratitude")
EMOTIONS = {"anger": "2", "gratitude": "15"}
SMALL = 2000
ONE_CELL = (1, 1)


@dataclass(frozen=True, eq=False)
class Traffic:
    """Items of the other half: score, predicted and actual class, verdicts of each judge."""

    score: Values
    threshold: float
    truth: Flags
    verdicts: dict[str, Flags]

    @property
    def is_flagged(self) -> Flags:
        """Predicted class."""
        return self.score >= self.threshold


def main(data: Path, sets: tuple[str, ...] = SETS, replicates: int = 400) -> None:
    """Print a table for each set of texts and each classifier."""
    print(DATA)
    for name, text, truth, opinions in texts(data):
        for classifier, traffic in trained(text, truth, opinions) if name in sets else ():
            up, true = traffic.is_flagged, traffic.truth
            print(f"\n{name}, {classifier}: {len(true):,} items, {true.mean():.3f} positive")
            print(f"flagged {up.mean():.3f}, P {true[up].mean():.3f}, R {up[true].mean():.3f}")
            for judge, yes in traffic.verdicts.items():
                say_judge(judge, yes, up, true)
            simulate(traffic, replicates)


def texts(folder: Path) -> Iterator[tuple[str, list[str], Flags, dict[str, Flags]]]:
    """Yield name, texts and truth of each set, and verdicts of others than a model."""
    tweets = pd.read_csv(folder / "labeled_data.csv")
    votes = tweets["hate_speech"] / tweets["count"]
    person = np.random.default_rng(2).random(len(tweets)) < votes.to_numpy()
    truth = (tweets["class"] == 0).to_numpy()
    yield "tweets", tweets["tweet"].tolist(), truth, {"a person": person}
    how: dict[str, Any] = {"sep": "\t", "header": None, "quoting": csv.QUOTE_NONE}
    files = (folder / f"{part}.tsv" for part in ("train", "dev", "test"))
    comments = pd.concat([pd.read_csv(file, **how) for file in files])
    for name, emotion in EMOTIONS.items():
        has = np.array([emotion in labels.split(",") for labels in comments[1]])
        yield name, comments[0].tolist(), has, {}


def trained(
    text: list[str], truth: Flags, opinions: dict[str, Flags]
) -> Iterator[tuple[str, Traffic]]:
    """Train both classifiers and the judges; yields what they say of the other half."""
    learn, later = np.array_split(np.random.default_rng(1).permutation(len(text)), 2)
    share = truth[learn].mean()

    def scored(model: Pipeline, items: Any) -> Values:
        model.fit([text[i] for i in items], truth[items])
        return np.asarray(model.predict_proba([text[i] for i in later])[:, 1])

    def cut(score: Values, times: int = 1) -> float:
        return float(np.quantile(score, 1 - times * share))

    of_characters = scored(regression(analyzer="char_wb", ngram_range=(2, 5)), learn)
    bayes = ComplementNB(alpha=0.01)
    by_bayes = scored(make_pipeline(*features(ngram_range=(1, 2)), bayes), learn)
    verdicts = {
        "characters": of_characters >= cut(of_characters),
        "characters, 5 x": of_characters >= cut(of_characters, 5),
        "bayes": by_bayes >= cut(by_bayes),
        **{name: yes[later] for name, yes in opinions.items()},
    }
    for name, items in (("words", learn), (f"words of {SMALL:,}", learn[:SMALL])):
        score = scored(regression(), items)
        yield name, Traffic(score, cut(score), truth[later], verdicts)


def features(**how: Any) -> tuple[HashingVectorizer, TfidfTransformer]:
    """Return the steps that count hashed words, or what is named, and weigh them."""
    hashed = HashingVectorizer(n_features=2**18, norm=None, alternate_sign=False, **how)
    return hashed, TfidfTransformer(sublinear_tf=True)


def regression(**how: Any) -> Pipeline:
    """Return a logistic regression on such features."""
    return make_pipeline(*features(**how), LogisticRegression(C=3, max_iter=500))


def say_judge(name: str, yes: Flags, up: Flags, true: Flags) -> None:
    """Print how often a judge says yes, by truth and by what the classifier says."""
    groups = {"TP": true & up, "FN": true & ~up, "FP": ~true & up, "TN": ~true & ~up}
    shares = ", ".join(f"{group} {yes[of].mean():.3f}" for group, of in groups.items())
    print(f"{name}: TPR {yes[true].mean():.3f}, FPR {yes[~true].mean():.3f}; of {shares}")


def simulate(traffic: Traffic, replicates: int) -> None:
    """Print labels for +-.05 and coverage, with the score and with the class alone."""
    print(f"{'':34}  none labels ratio flagged  half-widths   covered (truth below / above), bias")
    whole = Population(traffic.score, traffic.truth.astype(np.float64), traffic.threshold)
    for what, alone, half in (("score", CELLS, HALF), ("class", ONE_CELL, ONE_CELL)):
        none = cells.learned(cells.cut(whole, alone), SHARE, replicates, labels=START)
        cells.say(f"{what}, no judge", none, none.labels)
        for judge, yes in traffic.verdicts.items():
            found = fitted(by_verdict(whole, yes, half), none.labels, replicates)
            cells.say(f"{what}, {judge}", found, none.labels)


def by_verdict(whole: Population, yes: Flags, counts: tuple[int, int]) -> JudgedDesign:
    """Cut each class by score and verdict, those that say no first."""
    score, up = whole.score, whole.score >= whole.threshold
    parts = []
    for of, count in zip((up, ~up), counts, strict=True):
        place = band_of(score[of], cells.edges(score[of], count))
        columns = {"sign": np.where(yes[of], 1.0, -1.0), "place": place, "rate": whole.rate[of]}
        groups = pd.DataFrame({**columns, "claim": score[of]}).groupby(["sign", "place"])
        parts.append(groups.mean().assign(size=groups.size(), is_flagged=up[of][0]).reset_index())
    cell = pd.concat(parts)
    size, zeros = cell["size"].to_numpy(np.float64) * cells.SCALE, np.zeros(len(cell))
    rate, claim, is_flagged = (cell[name].to_numpy() for name in ("rate", "claim", "is_flagged"))
    cut = Cut(cell["place"].to_numpy(), np.column_stack([cell["sign"], zeros]))
    return JudgedDesign(size, rate, is_flagged, claim, zeros, cut)
