"""The manifests of deploy/kubernetes, as a cluster would read them."""

from typing import Any

import yaml
from typer.main import get_command

from monitor.cli.app import app
from tests.deploy.program import DEPLOY

FOLDER = DEPLOY / "kubernetes"
FILES = sorted(FOLDER.glob("*.yaml"))


def all_of_them():
    return [one for path in FILES for one in yaml.safe_load_all(path.read_text())]


def the(kind):
    [found] = [one for one in all_of_them() if one["kind"] == kind]
    return found


def job():
    return the("CronJob")["spec"]["jobTemplate"]["spec"]


def pods():
    """The pods, by the kind of what makes them."""
    return {
        "Deployment": the("Deployment")["spec"]["template"],
        "CronJob": job()["template"],
    }


def containers(pod):
    return [*pod["spec"]["initContainers"], *pod["spec"]["containers"]]


def container(kind, name):
    [found] = [one for one in containers(pods()[kind]) if one["name"] == name]
    return found


def config_text():
    [text] = the("ConfigMap")["data"].values()
    return text


def parsed(words):
    """Have the program read a command line, without doing it; returns the command's name."""
    command: Any = get_command(app)
    name, context = words[0], None
    words = words[1:]
    while hasattr(command, "commands"):
        context = command.make_context(name, words, parent=context, resilient_parsing=True)
        name, command, words = command.resolve_command(context, words)
    command.make_context(name, list(words), parent=context)
    return name
