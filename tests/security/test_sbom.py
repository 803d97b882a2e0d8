"""The list of parts that a release ships with is held against the lock: `make sbom`."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK = """\
apprise==2.2.0 \\
    --hash=sha256:aa
    # via mlflow-pr-monitor
psycopg[binary]==3.3.0 ; sys_platform != 'x' \\
    --hash=sha256:bb
"""


@pytest.fixture
def check():
    spec = importlib.util.spec_from_file_location("check_sbom", ROOT / ".ci" / "check_sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def part(name, version, hashes=("aa",)):
    places = [{"type": "distribution", "hashes": [{"content": hash_} for hash_ in hashes]}]
    return {"type": "library", "name": name, "version": version, "externalReferences": places}


def test_what_is_missing_changed_or_without_a_hash_is_told(check):
    whole = {"components": [part("Apprise", "2.2.0"), part("psycopg", "3.3.0")]}
    sbom = {"components": [part("apprise", "2.2.1", hashes=())]}

    assert check.complaints(whole, LOCK) == []
    assert check.complaints(sbom, LOCK) == [
        "apprise 2.2.0 is locked but not listed",
        "psycopg 3.3.0 is locked but not listed",
        "apprise 2.2.1 is listed but not locked",
        "apprise is listed without a hash",
    ]


LOCKS = sorted([*ROOT.glob("requirements/*.lock"), *ROOT.glob("tests/environments/*.lock")])


def test_each_package_of_each_lock_has_hashes(check):
    for path in LOCKS:
        lock = path.read_text()
        found = check.packages_of(lock)
        bases = set(re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE))
        with_extras = set(re.findall(r"^([\w.-]+)\[[^\]]*\]==(\S+)", lock, re.MULTILINE))

        assert len(found) > 1, path
        assert lock.count("==") >= len(found)
        assert with_extras <= bases, "what is locked with extras is locked without them"
        for package in lock.split("\n\n"):
            for entry in check.PACKAGE.split(package)[3::3]:
                assert "--hash=sha256:" in entry, path
