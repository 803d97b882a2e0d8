"""The manifests for Kubernetes fit its schemas, the program, the config and the image."""

import re
import subprocess

import pytest

from monitor.config.load import load_config
from monitor.domain.errors import EXIT_CONFIG, EXIT_INPUT, EXIT_TRY_LATER, EXIT_USAGE
from monitor.service.loop import GRACE
from tests.deploy import manifests
from tests.deploy.program import DEPLOY, installed

PODS = manifests.pods()
CONTAINERS = [
    pytest.param(one, id=f"{kind}-{one['name']}")
    for kind, pod in PODS.items()
    for one in manifests.containers(pod)
]
OLDEST, NEWEST = "1.31", "1.37"


@pytest.fixture(scope="module")
def deploy_tools():
    """What validates manifests by the schemas of Kubernetes itself."""
    return installed(".deploy-tools", "kubernetes-validate", "deploy-tools")


def validated(program, version, path):
    return subprocess.run(
        [program, "--strict", "--kubernetes-version", version, path],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_manifests_fit_the_schemas_and_a_wrong_key_does_not(deploy_tools, tmp_path, version):
    found = {path.name: validated(deploy_tools, version, path) for path in manifests.FILES}
    text = (manifests.FOLDER / "cronjob.yaml").read_text()
    misspelt = tmp_path / "cronjob.yaml"
    misspelt.write_text(text.replace("concurrencyPolicy:", "concurencyPolicy:"))

    wrong = {name: done.stdout + done.stderr for name, done in found.items() if done.returncode}
    assert wrong == {}
    assert len(found) == 3
    refused = validated(deploy_tools, version, misspelt)
    assert refused.returncode == 1
    assert "concurencyPolicy" in refused.stdout + refused.stderr


@pytest.mark.parametrize("one", CONTAINERS)
def test_every_container_calls_the_program_with_the_config_and_the_secrets_that_it_names(one):
    program, *_, option, path = one["command"]
    [mount] = [each for each in one["volumeMounts"] if each["name"] == "config"]
    [file] = manifests.the("ConfigMap")["data"]
    keys = {each["name"]: each["valueFrom"]["secretKeyRef"] for each in one["env"]}

    assert program == "pr-monitor"
    assert manifests.parsed(one["command"]) == one["name"]
    assert (option, path) == ("--config", f"{mount['mountPath']}/{file}")
    assert set(keys) == set(re.findall(r"\$\{(\w+)\}", manifests.config_text()))
    assert all(key == {"name": "pr-monitor", "key": name} for name, key in keys.items())


@pytest.fixture
def config(tmp_path, monkeypatch):
    path = tmp_path / "config.yaml"
    path.write_text(manifests.config_text())
    for name in re.findall(r"\$\{(\w+)\}", path.read_text()):
        monkeypatch.setenv(name, "canary")
    return load_config(path)


def test_probes_service_and_policy_name_the_port_of_the_config(config):
    serve = manifests.container("Deployment", "serve")
    [port] = serve["ports"]
    service, policy = manifests.the("Service")["spec"], manifests.the("NetworkPolicy")["spec"]
    probes = [serve[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")]

    assert port == {"name": "web", "containerPort": config.web.address.port}
    assert service["ports"] == [{"name": "web", "port": port["containerPort"], "targetPort": "web"}]
    assert policy["ingress"][0]["ports"] == [{"port": "web"}]
    assert {probe["port"] for probe in probes} == {"web"}


@pytest.mark.parametrize("kind", PODS)
def test_every_volume_that_is_mounted_is_there_and_only_tmp_can_be_written_to(kind):
    volumes = {each["name"] for each in PODS[kind]["spec"]["volumes"]}
    mounts = [each for one in manifests.containers(PODS[kind]) for each in one["volumeMounts"]]

    assert {each["name"] for each in mounts} == volumes
    assert {each["mountPath"] for each in mounts if not each.get("readOnly")} == {"/tmp"}  # noqa: S108


@pytest.mark.parametrize("kind", PODS)
def test_pods_keep_to_the_restricted_standard_as_the_user_of_the_image(kind):
    pod = PODS[kind]["spec"]
    user = re.search(r"^USER (\d+):(\d+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)

    assert user is not None
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": int(user[1]),
        "runAsGroup": int(user[2]),
        "fsGroup": int(user[2]),
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for one in manifests.containers(PODS[kind]):
        assert one["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_who_is_asked_to_stop_has_the_time_to():
    spec = PODS["Deployment"]["spec"]

    assert spec["terminationGracePeriodSeconds"] >= 1.5 * GRACE.total_seconds()
    assert manifests.the("Deployment")["spec"]["strategy"] == {"type": "Recreate"}


def test_passes_do_not_overlap_and_are_tried_again_only_where_that_may_help():
    cron, job = manifests.the("CronJob")["spec"], manifests.job()
    [fails] = [
        rule["onExitCodes"]
        for rule in job["podFailurePolicy"]["rules"]
        if rule["action"] == "FailJob"
    ]

    assert cron["concurrencyPolicy"] == "Forbid"
    assert job["template"]["spec"]["restartPolicy"] == "Never"  # which the policy asks for
    assert fails == {"operator": "In", "values": [1, EXIT_USAGE, EXIT_INPUT, EXIT_CONFIG]}
    assert EXIT_TRY_LATER not in fails["values"]
    assert job["backoffLimit"] > 0
