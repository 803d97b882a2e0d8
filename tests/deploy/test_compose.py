"""What the compose file starts is a command of the program, on a config that it can read."""

import yaml

from monitor.config.load import load_config
from tests.deploy.manifests import parsed
from tests.deploy.program import DEPLOY, ROOT

FOLDER = DEPLOY / "compose"
SERVICES = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]


def test_the_service_and_its_upgrade_are_commands_of_the_program():
    assert parsed(["pr-monitor", *SERVICES["upgrade"]["command"]]) == "upgrade"
    assert parsed(["pr-monitor", *SERVICES["monitor"]["command"]]) == "serve"


def test_the_config_is_one_that_the_program_reads_and_names_the_services():
    config = load_config(FOLDER / "config.yaml", {"DB_PASSWORD": "secret"})

    assert config.store_url == "postgresql+psycopg://monitor:secret@postgres:5432/monitor"
    assert config.mlflow.tracking_uri == "http://mlflow:5000"
    assert {"postgres", "mlflow"} <= SERVICES.keys()
    assert config.web is not None
    assert str(config.web.listen).endswith(":8080")
    assert "127.0.0.1:8080/health" in SERVICES["monitor"]["healthcheck"]["test"][-1]


def test_every_own_container_has_a_root_that_nobody_writes_to_and_no_rights():
    own = [service for name, service in SERVICES.items() if name != "postgres"]

    assert all(service["read_only"] and service["cap_drop"] == ["ALL"] for service in own)
    assert {(ROOT / "deploy/compose" / s["build"]["context"]).resolve() for s in own} == {ROOT}
    assert all((ROOT / service["build"]["dockerfile"]).exists() for service in own)
