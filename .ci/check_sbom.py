"""Check that a list of parts (CycloneDX JSON) holds each package of a lock, and its hashes.

``check_sbom.py SBOM LOCK``
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

PACKAGE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)


def packages_of(lock: str) -> set[tuple[str, str]]:
    """Names and versions in a lock."""
    return {(_name(name), version) for name, version in PACKAGE.findall(lock)}


def complaints(sbom: dict[str, object], lock: str) -> list[str]:
    """Say what the list lacks, or has beyond the lock."""
    parts = [part for part in sbom["components"] if part["type"] == "library"]  # type: ignore[attr-defined]
    listed = {(_name(part["name"]), part["version"]) for part in parts}
    locked = packages_of(lock)
    said = [
        f"{name} {version} is locked but not listed" for name, version in sorted(locked - listed)
    ]
    said += [
        f"{name} {version} is listed but not locked" for name, version in sorted(listed - locked)
    ]
    said += [f"{part['name']} is listed without a hash" for part in parts if not _hashes(part)]
    return said or ([] if locked else ["the lock holds no package"])


def _hashes(part: dict[str, object]) -> list[object]:
    places = part.get("externalReferences", [])
    return [each for place in places for each in place.get("hashes", [])]  # type: ignore[attr-defined]


def _name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sbom_path, lock_path = map(Path, sys.argv[1:])
    found = complaints(json.loads(sbom_path.read_text()), lock_path.read_text())
    for line in found:
        print(line)  # noqa: T201
    if not found:
        count = len(packages_of(lock_path.read_text()))
        print(f"{sbom_path}: {count} packages, as locked")  # noqa: T201
    sys.exit(bool(found))
