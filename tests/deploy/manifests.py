"""The manifests of deploy/kubernetes, as a cluster would read them."""

from __future__ import annotations

from ruamel.yaml import YAML

from tests.deploy.program import DEPLOY

FOLDER = DEPLOY / "kubernetes"
FILES = sorted(FOLDER.glob("*.yaml"))


def all_of_them():
    return [one for path in FILES for one in YAML(typ="safe").load_all(path)]


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
