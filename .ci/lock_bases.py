"""Lock each package that is locked with extras once more without them.

``lock_bases.py LOCK...``

pip takes ``fastapi[standard]==1.0`` and ``fastapi>=0.9`` for two packages while it looks for
versions. If only one of them is in a lock, it takes the newest version there is for the other, and
refuses that, since the lock has no hash of it: an install fails once a newer one is released.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

WITH_EXTRAS = re.compile(r"^([A-Za-z0-9._-]+)\[[^\]]*\](==.*\n(?:    --hash=.*\n)+)", re.MULTILINE)


def with_bases(lock: str) -> str:
    """Write a lock with its bases; one that has them stays as it is."""

    def both(match: re.Match[str]) -> str:
        base = match[1] + match[2]
        return match[0] if f"\n{base}" in lock else base + match[0]

    return WITH_EXTRAS.sub(both, lock)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(with_bases(path.read_text()))
