"""Digits as pictures that a person can read: larger, smooth, and dark on white."""

from __future__ import annotations

import struct
import zlib
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from monitor.demo.digits import INK

if TYPE_CHECKING:
    from pathlib import Path

    from monitor.demo.digits import Pixels, Values


SIDE = 200  # pixels of a picture
_MARGIN = 1  # of white around the digit, in its own pixels
_EDGE, _SHARPNESS = 0.62, 10.0  # how much ink is gray, and how fast more of it gets black


def write_pictures(folder: Path, images: Pixels) -> list[str]:
    """Draw each image into a file of the folder, of equal ones one; returns the names of files.

    They are in the order of their pixels, so that a name says nothing about the digit.
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
    ink = np.pad(image / INK, _MARGIN)
    across = _enlarging(len(ink))
    return _encoded(across @ ink @ across.T)


@cache
def _enlarging(small: int) -> Values:
    """Weights that make a line of a picture of the pixels of a small one, linear in between."""
    at = (np.arange(SIDE) + 0.5) * small / SIDE - 0.5
    distance = np.abs(at[:, None] - np.arange(small)[None, :])
    weights: Values = np.clip(1 - distance, 0, None)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def _encoded(ink: Values) -> bytes:
    lightness = 1 / (1 + np.exp(_SHARPNESS * (ink - _EDGE)))
    shades = np.round(255 * lightness).astype(np.uint8)
    height, width = shades.shape
    lines = np.hstack([np.zeros((height, 1), np.uint8), shades]).tobytes()  # 0: no filter
    header = struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)  # eight bits of gray
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
