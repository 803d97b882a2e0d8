"""A real classifier on real digits, and half a year of traffic for it: "is it an 8?".

A small neural network learns on one half of scikit-learn's handwritten digits. Images of the
other half, each jittered as a camera would, are the traffic. From one week on the camera gets
noisy: some of its pixels read black.
"""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Truths = NDArray[np.bool_]
    Pixels = NDArray[np.uint8]


DIGIT = 8
THRESHOLD = 0.5
START = datetime(2025, 1, 6, tzinfo=UTC)  # a Monday
WEEK = timedelta(weeks=1)

_SIDE = 8  # pixels
INK = 16  # brightest value
_TRAINING, _REFERENCE, _FIRST_WEEK = 0, 1, 2  # places among the random streams
SIDE = 200  # pixels of a picture
_MARGIN = 1  # of white around the digit, in its own pixels
_EDGE, _SHARPNESS = 0.62, 10.0  # how much ink is gray, and how fast more of it gets black


@dataclass(frozen=True, slots=True)
class DigitScenario:
    """What happens in the half year.

    The seed was fixed before the size of the drop was chosen: it is the digit. With 8 % of the
    pixels lost, recall falls by 22 points.
    """

    seed: int = DIGIT  # Fixes the split, the training, the traffic and the samples.
    rounds: int = 26  # Weeks of traffic.
    drop_round: int = 17  # First round with the noisy camera, from 1.
    lost_pixels: float = 0.08  # Share of its pixels that read black.
    images: int = 6000  # Images of a usual week; each week has somewhat more or less.
    prevalence: float = 0.04  # Share of eights.
    reference: int = 10_000  # Images labeled before launch, a plain random sample.
    labels: int = 500  # Labels that a round may ask for.
    room: float = 0.05  # How far each limit lies under what the reference says.


@dataclass(frozen=True, slots=True)
class Confusion:
    """A confusion matrix of which everything is known."""

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def size(self) -> int:
        """All images."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def precision(self) -> float:
        """Share of eights among the flagged images."""
        return self.tp / (self.tp + self.fp)

    @property
    def recall(self) -> float:
        """Share of flagged images among the eights."""
        return self.tp / (self.tp + self.fn)

    def of(self, metric: str) -> float:
        """Return precision or recall by its name."""
        return self.precision if metric == "precision" else self.recall


@dataclass(frozen=True, slots=True)
class Batch:
    """Scored images in the order of their time, and what they really show.

    ``paper`` is what the camera looked at: the handwriting before it was jittered.
    """

    ids: list[str]
    scored_at: list[datetime]
    paper: Pixels
    score: Values
    is_eight: Truths

    @property
    def confusion(self) -> Confusion:
        """What a person who labels every image would count."""
        flagged = self.score >= THRESHOLD
        return Confusion(
            tp=int((flagged & self.is_eight).sum()),
            fp=int((flagged & ~self.is_eight).sum()),
            fn=int((~flagged & self.is_eight).sum()),
            tn=int((~flagged & ~self.is_eight).sum()),
        )


class Camera:
    """The classifier and the handwriting it never saw, together the traffic of any week."""

    def __init__(self, scenario: DigitScenario) -> None:
        self.scenario = scenario
        streams = np.random.SeedSequence(scenario.seed).spawn(_FIRST_WEEK + scenario.rounds)
        self._streams = streams

    def reference(self) -> Batch:
        """Images labeled before launch, all from the week before the first."""
        rng = np.random.default_rng(self._streams[_REFERENCE])
        return self._batch(rng, START - WEEK, self.scenario.reference, lost_pixels=0.0)

    def week(self, number: int) -> Batch:
        """Traffic of a round, from 1."""
        scenario = self.scenario
        rng = np.random.default_rng(self._streams[_FIRST_WEEK + number - 1])
        images = int(rng.integers(round(0.9 * scenario.images), round(1.1 * scenario.images)))
        lost = scenario.lost_pixels if number >= scenario.drop_round else 0.0
        return self._batch(rng, START + (number - 1) * WEEK, images, lost_pixels=lost)

    @cached_property
    def _halves(self) -> tuple[_Handwriting, _Handwriting]:
        from sklearn.datasets import load_digits  # noqa: PLC0415  a second, the demo only
        from sklearn.model_selection import train_test_split  # noqa: PLC0415

        images, digits = load_digits(return_X_y=True)
        halves = train_test_split(
            images.reshape(-1, _SIDE, _SIDE),
            digits == DIGIT,
            test_size=0.5,
            stratify=digits,
            random_state=self.scenario.seed,
        )
        return _Handwriting(halves[0], halves[2]), _Handwriting(halves[1], halves[3])

    @cached_property
    def _model(self) -> Any:
        from sklearn.neural_network import MLPClassifier  # noqa: PLC0415

        rng = np.random.default_rng(self._streams[_TRAINING])
        images, is_eight = self._halves[0].draw(rng, 20_000, self.scenario.prevalence)
        model = MLPClassifier(
            (32,),
            alpha=0.01,
            learning_rate_init=0.005,
            max_iter=25,
            tol=0.0,
            random_state=self.scenario.seed,
        )
        with _calm():
            return model.fit(_features(jittered(images, rng)), is_eight)

    def _batch(
        self, rng: np.random.Generator, start: datetime, images: int, *, lost_pixels: float
    ) -> Batch:
        seen, is_eight = self._halves[1].draw(rng, images, self.scenario.prevalence)
        pixels = jittered(seen, rng, lost_pixels=lost_pixels)
        seconds = np.sort(rng.integers(0, int(WEEK.total_seconds()), images))
        return Batch(
            ids=[f"{start:%Y%m%d}-{index:05d}" for index in range(images)],
            scored_at=[start + timedelta(seconds=int(second)) for second in seconds],
            paper=seen.astype(np.uint8),
            score=self._model.predict_proba(_features(pixels))[:, 1],
            is_eight=is_eight,
        )


@dataclass(frozen=True, slots=True)
class _Handwriting:
    images: Values
    is_eight: Truths

    def draw(self, rng: np.random.Generator, size: int, prevalence: float) -> tuple[Values, Truths]:
        """Draw images with replacement, as many of them eights as comes by chance."""
        is_eight = rng.random(size) < prevalence
        eights, others = np.flatnonzero(self.is_eight), np.flatnonzero(~self.is_eight)
        chosen = np.where(is_eight, rng.choice(eights, size), rng.choice(others, size))
        return self.images[chosen], is_eight


def jittered(images: Values, rng: np.random.Generator, *, lost_pixels: float = 0.0) -> Values:
    """Shift, turn and scale each image a little, add noise, and let some pixels read black."""
    from scipy import ndimage  # noqa: PLC0415  with the rest of the demo's slow imports

    size = len(images)
    turn = rng.normal(0, np.deg2rad(7), size)[:, None, None]
    scale = np.exp(rng.normal(0, 0.06, size))[:, None, None]
    shift = rng.normal(0, 0.35, (2, size))[:, :, None, None]  # pixels
    middle = (_SIDE - 1) / 2
    down, right = np.mgrid[:_SIDE, :_SIDE] - middle
    rows = (np.cos(turn) * down - np.sin(turn) * right) / scale + middle + shift[0]
    columns = (np.sin(turn) * down + np.cos(turn) * right) / scale + middle + shift[1]
    which = np.broadcast_to(np.arange(size)[:, None, None], rows.shape)
    moved = ndimage.map_coordinates(images, [which, rows, columns], order=1, mode="constant")
    noisy = np.asarray(moved) + rng.normal(0, 1, moved.shape)
    noisy[rng.random(noisy.shape) < lost_pixels] = 0
    return np.clip(noisy, 0, INK)


def _features(images: Values) -> Values:
    return images.reshape(len(images), -1) / INK


@contextmanager
def _calm() -> Iterator[None]:
    """Train on one core, which is faster at this size, and keep quiet that 25 passes are few."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415  comes with scikit-learn

    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
        yield


def write_pictures(folder: Path, images: Pixels) -> list[str]:
    """Draw each image into a file of the folder, of equal ones one; returns the names of files.

    They are in the order of their pixels, so that a name does not reveal the digit.
    """
    folder.mkdir(exist_ok=True)
    distinct, which = np.unique(images, axis=0, return_inverse=True)
    for index, image in enumerate(distinct):
        (folder / _name(index)).write_bytes(png(image))
    return [_name(int(index)) for index in which.ravel()]


def _name(index: int) -> str:
    return f"{index:04}.png"


def png(image: Pixels) -> bytes:
    """Draw an image as a PNG."""
    from scipy import ndimage  # noqa: PLC0415

    ink = np.pad(image / INK, _MARGIN)
    smooth = ndimage.zoom(ink, SIDE / len(ink), order=1, mode="nearest", grid_mode=True)
    lightness = 1 / (1 + np.exp(_SHARPNESS * (smooth - _EDGE)))
    shades = np.round(255 * lightness).astype(np.uint8)
    height, width = shades.shape
    lines = np.hstack([np.zeros((height, 1), np.uint8), shades]).tobytes()  # 0: no filter
    header = struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)  # eight bits of gray
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
