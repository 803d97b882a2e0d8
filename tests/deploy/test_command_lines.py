"""What cron, systemd and the image call is a command of the program."""

import json
import re

import pytest

from tests.deploy.manifests import parsed
from tests.deploy.program import DEPLOY

CALLED = {
    "crontab": "run-once",
    "pr-monitor-run-once.service": "run-once",
    "pr-monitor.service": "serve",
}


def test_cron_systemd_and_the_image_call_a_command_of_the_program():
    image = (DEPLOY / "Dockerfile").read_text()
    given = re.findall(r"^(?:ENTRYPOINT|CMD) (.*)$", image, re.MULTILINE)

    for file, command in CALLED.items():
        text = (DEPLOY / file).read_text()
        [line] = re.findall(r"^[^#\n]*/opt/pr-monitor/bin/(pr-monitor [^>\n]*)", text, re.MULTILINE)

        assert parsed(line.split()) == command
    assert parsed([word for each in given for word in json.loads(each)]) == "serve"
    with pytest.raises(Exception, match="No such option"):
        parsed(["pr-monitor", "serve", "--jsn"])
