"""The config: the environment, secrets, odd files and nonsense."""

import re

import pytest
import sqlalchemy
import yaml
from sqlalchemy.engine import make_url

from monitor.config import yaml_tree
from monitor.config.load import load_config
from monitor.config.yaml_tree import MAX_BYTES
from monitor.domain.errors import ConfigRefused
from monitor.storage.database import Database
from monitor.tracking.mlflow import MlflowHandler
from tests.config_texts import ENVIRONMENT, TEXT, changed, read


def test_variables_are_put_into_texts_whole_or_in_part_and_can_be_escaped(load):
    text = changed("max_labels: 2000", 'max_labels: "${LABELS}"')
    text = text.replace("predictions/*.parquet", '"${LABELS}/$${x}.parquet"')

    monitor = load(text).monitors[0]

    assert monitor.sample.max_labels == 1200
    assert monitor.source.path == "1200/${x}.parquet"


def test_a_missing_variable_is_named(refused):
    environ = {key: value for key, value in ENVIRONMENT.items() if key != "OPS_HOOK"}

    assert refused(TEXT, environ) == [
        "config.yaml:22, hooks.ops.url: the environment has no variable OPS_HOOK; set it, or write "
        "$${ for the text"
    ]


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        ("${OPS_HOOK_SECRET}", "canary-literal-0123456789", "hooks.ops.secret"),
        ("${OPS_HOOK_SECRET}", "canary${OPS_HOOK_SECRET}", "hooks.ops.secret"),
        ("${OPS_HOOK}", "https://canary.example/T0K3N", "hooks.ops.url"),
        ("sqlite:///monitor.db", "postgresql+psycopg://me:canary@h/db", "store"),
        ("sqlite:///monitor.db", "postgresql+psycopg://h/db?password=canary", "store"),
        ("sqlite:///mlflow.db", "https://me:canary@mlflow.example", "mlflow.tracking_uri"),
    ],
)
def test_a_secret_in_the_file_is_refused_with_the_way_out_and_not_repeated(
    refused, before, after, path
):
    found = refused(changed(before, after))

    assert len(found) == 1
    assert f", {path}: do not write a " in found[0]
    assert " into this file; set a variable and write" in found[0]
    assert "canary" not in found[0]


def test_a_database_password_may_come_from_the_environment(load):
    text = changed("sqlite:///monitor.db", '"postgresql+psycopg://me:${DB_PASSWORD}@h/db"')
    text = text.replace("sqlite:///mlflow.db", '"https://me:${DB_PASSWORD}@mlflow.example"')

    config = load(text)

    assert config.store_url == "postgresql+psycopg://me:canary-password@h/db"
    assert "canary" not in f"{config} {config!r}"


def test_a_secret_may_stand_in_a_file_of_its_own(load, tmp_path):
    (tmp_path / "hook.secret").write_text("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz\n")
    text = changed('secret: "${OPS_HOOK_SECRET}"', "secret_file: hook.secret")

    secret = load(text).hooks["ops"].secret.get_secret_value()

    assert secret == "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"  # noqa: S105


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("secret_file: none", "the file with the secret cannot be read: no such file or directory"),
        ("secret_file: 7", "the file with the secret cannot be read: this is not a path"),
        ("secret_file: bytes", "the file with the secret is not UTF-8"),
        (
            'secret: "${OPS_HOOK_SECRET}", secret_file: hook.secret',
            "secret is already set; keep one of secret and secret_file",
        ),
    ],
)
def test_a_secret_file_that_cannot_be_used_is_refused_by_its_line(refused, tmp_path, given, why):
    (tmp_path / "hook.secret").write_text("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz")
    (tmp_path / "bytes").write_bytes(b"\xff")
    text = changed('secret: "${OPS_HOOK_SECRET}"', given)

    assert refused(text) == [f"config.yaml:22, hooks.ops.secret_file: {why}"]


@pytest.mark.parametrize("key", ["threshold", "name", "lag", "cron", "max_labels", "hazard"])
def test_what_the_environment_holds_is_never_repeated(refused, key):
    text = re.sub(rf'{key}: ?("[^"]*"|[\w.-]+)?', f'{key}: "${{DB_PASSWORD}}"', TEXT, count=1)

    found = refused(text + "x: 1\n")

    assert len(found) == (1 if key == "name" else 2)
    assert "canary" not in "\n".join(found)


def test_neither_the_config_nor_its_errors_show_secrets(load, refused):
    environ = {**ENVIRONMENT, "OPS_HOOK_SECRET": "canary-short", "OPS_HOOK": "ftp://canary"}

    assert not any(value in repr(load(TEXT)) for value in ENVIRONMENT.values())
    assert "canary" not in "\n".join(refused(TEXT, environ))


ODD_FILES = [
    (b"", ": the file is empty; `pr-monitor init PREDICTIONS` writes one"),
    (b"# nothing\n", ": the file is empty; `pr-monitor init PREDICTIONS` writes one"),
    (b"- 1\n", ":1, the file: it should be a valid mapping, found a list of 1"),
    (b"a: b: c\n", ":1:5: this is not YAML: mapping values are not allowed"),
    (b"a: [1\nb: 2\n", ":2:2: this is not YAML: "),
    (b"a: *canary\n", ":1:4: this is not YAML: found undefined alias;"),
    (b"a: 1\n---\nb: 2\n", ":2:1: this is not YAML: "),
    (b"a: \xff\n", ":1: byte 4 is not UTF-8; save the file as UTF-8"),
    (b"a: \x00\n", ": this is not YAML: a character that is not allowed in a text file"),
    (
        b"a: " + b"[" * 2000,
        ":1: over 30 levels deep, aliases (*name) written out; is it a config file?",
    ),
    (b"a: &a [*a]\n", ":1: over 30 levels deep, aliases (*name) written out; is it a config file?"),
    (b"a: &a 1\nb: &a 2\n", ":2: this anchor (&name) is used before; give it another name"),
    (b"#" * (MAX_BYTES + 1), " is larger than 1,000,000 bytes; is it a config file?"),
]


@pytest.mark.parametrize("parser", [yaml.CBaseLoader, yaml.BaseLoader])
@pytest.mark.parametrize(("content", "sentence"), ODD_FILES)
def test_an_odd_file_is_refused_in_one_sentence(refused, monkeypatch, content, sentence, parser):
    monkeypatch.setattr(yaml_tree, "_PARSER", parser)

    found = refused(content)

    assert len(found) == 1
    assert found[0].startswith(f"config.yaml{sentence}")
    assert "canary" not in found[0]


def test_few_lines_that_write_out_to_many_are_refused(refused):
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]

    assert "over 100000 values, aliases (*name) written out" in refused("\n".join(lines))[0]


def test_a_missing_file_says_how_to_get_one_and_a_folder_is_none(tmp_path):
    with pytest.raises(ConfigRefused) as caught:
        load_config(tmp_path / "config.yaml")
    with pytest.raises(ConfigRefused, match="is a folder; name the config file in it"):
        load_config(tmp_path)

    assert str(caught.value) == (
        f"there is no config.yaml in {tmp_path}; `pr-monitor init PREDICTIONS` writes one"
    )


def test_a_hook_with_a_setting_called_as_its_kind_is_refused_by_its_wrong_settings(refused):
    hook = "  pager: {kind: command, command: [page], timeout: soon, wrong: 1}\n"

    assert [line.partition(": ")[0] for line in refused(TEXT + hook)] == [
        "config.yaml:23, hooks.pager.timeout",
        "config.yaml:23, hooks.pager.wrong",
    ]


@pytest.mark.parametrize("folder", ["repo_feature%2Ffoo", "50%off", "what?#b"])
def test_paths_are_relative_to_the_config_whatever_its_folder_is_called(tmp_path, folder):
    if "?" in folder and sqlalchemy.__version__.startswith("2.0."):
        pytest.skip("an address of SQLAlchemy 2.0 cannot name such a file")
    home = tmp_path / folder
    home.mkdir()

    config = read(home, TEXT)
    handler = MlflowHandler(config.mlflow, config.folder)

    assert Database(config.store_url).engine.url.database == str(home / "monitor.db")
    assert make_url(handler._connection.tracking_uri).database == str(home / "mlflow.db")


def test_the_path_of_a_store_is_taken_as_it_is_written(load, tmp_path):
    config = load(changed("sqlite:///monitor.db", "sqlite:////srv/repo%2Ffoo/monitor.db"))

    assert Database(config.store_url).engine.url.database == "/srv/repo%2Ffoo/monitor.db"


@pytest.mark.parametrize(
    ("setting", "address"),
    [
        ("sqlite:///monitor.db", "postgresql+psycopg://me:${DB_PASSWORD}@h/db"),
        ("sqlite:///mlflow.db", "https://me:${DB_PASSWORD}@mlflow.example"),
    ],
)
def test_a_password_with_an_at_sign_is_refused_and_not_shown(
    refused, monkeypatch, setting, address
):
    monkeypatch.setitem(ENVIRONMENT, "DB_PASSWORD", "can@localhost/ary")

    sentence = refused(changed(setting, f'"{address}"'))[0]

    assert sentence.endswith("the address has more than one @; write %40 for one in the password")
    assert "ary" not in sentence
