"""R8, configs: whatever the file holds, there is a config or a sentence for each problem."""

import pytest
from hypothesis import HealthCheck, given, settings

from monitor.config.load import MOST_PROBLEMS, load_config
from monitor.config.model import Config
from monitor.domain.errors import ConfigRefused
from tests.cli.workplace import Workplace
from tests.config_texts import ENVIRONMENT
from tests.faults.odd_configs import odd_configs
from tests.faults.sizes import SOAK, sized

FILES = sized(small=200, soak=10_000)
CALLS = sized(small=12, soak=1000)
EXIT_CODES = {0, 2, 65, 75, 78}
ALWAYS = settings(
    deadline=None,
    derandomize=not SOAK,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def outcome_of(path):
    try:
        return load_config(path, ENVIRONMENT)
    except ConfigRefused as error:
        return str(error)


def test_a_malformed_config_is_read_or_refused_and_nothing_else(tmp_path):
    path = tmp_path / "config.yaml"
    refused = []

    @settings(ALWAYS, max_examples=FILES)
    @given(odd_configs)
    def look(content):
        path.write_bytes(content)

        outcome = outcome_of(path)

        if not isinstance(outcome, Config):
            refused.append(outcome)
            lines = outcome.split("\n")
            assert all("config.yaml" in line and len(line) < 2000 for line in lines)
            assert len(lines) <= MOST_PROBLEMS + 1
            assert not any(value in outcome for value in ENVIRONMENT.values() if len(value) > 4)

    look()

    assert len(refused) > FILES // 2


@pytest.mark.parametrize("words", [("check",), ("rounds", "--json")])
def test_a_malformed_config_ends_a_command_with_a_sentence_and_its_code(
    tmp_path, monkeypatch, words
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.environ", {**ENVIRONMENT, "HOME": str(tmp_path)})
    place = Workplace(tmp_path)

    @settings(ALWAYS, max_examples=CALLS)
    @given(odd_configs)
    def call(content):
        (tmp_path / "config.yaml").write_bytes(content)

        ended = place.run(*words)

        assert ended.code in EXIT_CODES
        assert "Traceback" not in ended.err + ended.out

    call()


def test_of_very_many_problems_the_first_are_told(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("".join(f"key{number:04}: 1\n" for number in range(3000)))

    lines = outcome_of(path).split("\n")

    assert lines[0].endswith(
        ":1, key0000: there is no such setting here; known are "
        "false_alarms, hooks, mlflow, monitors, pages, store, web"
    )
    assert lines[-1] == f"{path}: {3001 - MOST_PROBLEMS} more problems; fix these first"
