"""Hooks as they stand in the config: which parts are secret depends on the kind."""

import pytest

from monitor.config.load import load_config
from monitor.domain.errors import ConfigRefused

HEAD = """\
monitors:
  - name: mail
    source: {path: p.csv, columns: {id: id, time: at, score: score}, threshold: 0.5}
    schedule: {cron: "0 6 * * MON"}
    labeling: {kind: files}
hooks:
"""


@pytest.fixture
def hooks(tmp_path):
    """Load a config with hooks, one a line."""

    def hooks(*lines):
        path = tmp_path / "config.yaml"
        path.write_text(HEAD + "".join(f"  {line}\n" for line in lines))
        return load_config(path, {"TOKEN": "t0ken"}).hooks

    return hooks


def test_each_hook_is_read_by_its_kind(hooks):
    found = hooks(
        'chat: {kind: apprise, url: "slack://${TOKEN}/a/b"}',
        "page: {kind: command, command: [page, --team, ml], environment: [PAGER]}",
        "lines: {kind: log}",
    )

    assert [hook.kind for hook in found.values()] == ["apprise", "command", "log"]
    assert found["chat"].url.get_secret_value() == "slack://t0ken/a/b"
    assert found["page"].command == ("page", "--team", "ml")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a: {kind: apprise, url: slack://T0KEN/a/b}", "url: do not write a secret into this file"),
        ("a: {kind: command, command: page}", "command: it should be a valid list"),
        ("secret: {kind: webhook, url: https://T0KEN/}", "url: do not write a secret"),
        ("a: {kind: smoke, url: https://a/}", "'smoke' is not known"),
        ("a: {kind: [], url: https://T0KEN/}", "a.kind: '\\[\\]' is not known"),
        (
            "a: {url: https://a/}",
            "a.kind: this setting is missing; it is one of webhook, log",
        ),
        ("log: {kind: log}", "every monitor has a sink named log already"),
        ("mlflow: {kind: log}", "every monitor has a sink named mlflow already"),
    ],
)
def test_what_cannot_be_used_is_refused_without_showing_a_secret(hooks, line, said):
    with pytest.raises(ConfigRefused, match=said) as refusal:
        hooks(line)

    assert "T0KEN" not in str(refusal.value)
