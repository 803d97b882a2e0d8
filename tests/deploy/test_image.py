"""The image installs what the locks pin, and takes from the checkout only what it is given."""

import re
import tomllib

from tests.deploy.program import DEPLOY, ROOT

DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


def pins(name):
    found = re.findall(r"^([a-z][\w.-]*)==(\S+)", (ROOT / name).read_text(), re.MULTILINE)
    return dict(found)


def test_the_image_has_the_versions_that_were_tested():
    image, tested = pins("requirements/image.lock"), pins("requirements/dev.lock")

    assert {name: version for name, version in image.items() if tested.get(name) != version} == {}
    assert pins("requirements/runtime.lock").items() <= image.items()


def test_the_image_has_what_the_extras_named_in_the_makefile_add():
    [named] = re.findall(r"^IMAGE_EXTRAS := (.*)$", MAKEFILE, re.MULTILINE)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]

    wanted = {re.split(r"[^\w.-]", line)[0] for name in named.split() for line in extras[name]}

    assert wanted <= set(pins("requirements/image.lock"))


def test_what_the_dockerfile_copies_is_let_in_and_made_by_make():
    [copied] = re.findall(r"^COPY (?!--from)(.*) /tmp/$", DOCKERFILE, re.MULTILINE)
    let_in = (ROOT / ".dockerignore").read_text().splitlines()

    assert copied.split() == ["requirements/image.lock", "dist/mlflow_pr_monitor-*.whl"]
    assert let_in == ["*", "!requirements/image.lock", "!dist/*.whl"]
    assert "#   make wheel\n" in DOCKERFILE
    assert re.search(
        r"^wheel:.*\n(.*\n)*?\t.* -m build --wheel .*--outdir dist", MAKEFILE, re.MULTILINE
    )
