"""What the documentation shows is right: configs load, commands exist, tutorials run, pages fit."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import monitor
from monitor import stats
from monitor.config.load import load_config
from monitor.domain.errors import ConfigRefused
from monitor.stats.core.metrics import METRICS
from tests.pages import DOCS, blocks, generator, page

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
TEXTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [*ROOT.glob("*.md"), ROOT / "deploy" / "README.md", *DOCS.rglob("*.md")]
}
MADE = generator("generate_stats")
MOST_PROSE = 45_000
"""Words of the site without its reference and without code."""
MOST_README = 700

BASE = """\
store: sqlite:///monitor.db
monitors:
  - name: mail-{name}
    source:
      path: predictions/*.parquet
      columns: {{id: mail_id, time: scored_at, score: score, show: [subject]}}
      threshold: 0.5
    schedule: {{cron: "0 6 * * MON"}}
    labeling: {{kind: files}}
"""
BLOCK = """\
monitors:
  - name: mail-{class}
    classes: {column: topic, values: [travel, other]}
    source:
      path: predictions/*.parquet
      columns: {id: mail_id, time: scored_at}
    schedule: {cron: "0 6 * * MON"}
    labeling: {kind: page, question: "Which?", answer: class}
"""
NO_CONFIG = re.compile(r"^groups:|kind: jsonl|\{\.\.\.")
"""YAML of Prometheus, of the example of a package, and of parts that are left out."""
PAGES = {
    "listen": "0.0.0.0:8443",
    "names": ["labels.example.org"],
    "behind_proxy": True,
}
TABLES = {"kind": "sql", "url": "postgresql+psycopg://reader@localhost/db", "table": "predictions"}


def yaml_blocks():
    for name, text in TEXTS.items():
        if name == "docs/how-to/evaluate.md":
            continue  # its block is output, which its own test reads
        for number, code in enumerate(blocks(text, "yaml"), 1):
            yield pytest.param(code, id=f"{name}: {number}")


def merged(shown):
    """Put what a block shows into a whole config."""
    if isinstance(shown, list):
        return {"monitors": [whole(monitor) for monitor in shown]}
    if "monitors" in shown:
        return {**shown, "monitors": [whole(monitor) for monitor in shown["monitors"]]}
    if "pages" in shown:
        shown["pages"] = PAGES | shown["pages"] if "login" in shown["pages"] else shown["pages"]
    at_top = {"store", "mlflow", "web", "pages", "hooks", "false_alarms"}
    of_monitor = {key: value for key, value in shown.items() if key not in at_top}
    rest = {key: value for key, value in shown.items() if key in at_top}
    return {**rest, "monitors": [whole(of_monitor)]}


def whole(monitor):
    base = yaml.safe_load(BASE.format(name="travel"))["monitors"][0]
    labeling = monitor.get("labeling", {})
    alone = labeling if isinstance(labeling, dict) else {}  # else several, in a list
    of_classes = "classes" in monitor or "class" in str(alone.get("answer"))
    if of_classes:
        base = yaml.safe_load(BLOCK)["monitors"][0]
    if "for_each" in monitor and "name" not in monitor:
        base["name"] = "mail-{topic}"
    source = dict(base["source"])
    given = monitor.get("source", {})
    if given.get("kind") == "mlflow_traces":  # whose paths no table has
        return {**base, **monitor, "source": given}
    if given.get("kind", "duckdb") != "duckdb":
        del source["path"]
    if "table" in alone and "source" not in monitor:
        source = {**source, **TABLES}
        del source["path"]
    columns = {**source["columns"], **given.get("columns", {})}
    return {**base, **monitor, "source": {**source, **given, "columns": columns}}


@pytest.mark.parametrize("code", list(yaml_blocks()))
def test_each_config_in_the_docs_is_one_that_loads(code, tmp_path):
    shown = yaml.safe_load(code)
    if NO_CONFIG.search(code):
        pytest.skip("of another program, or not whole")
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(merged(shown), sort_keys=False))
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "fraud.txt").write_text("Is this fraud? {subject}")
    environment = dict.fromkeys(re.findall(r"\$\{(\w+)\}", code), "x" * 32)
    environment |= {name: "https://x.example.org" for name in environment if name == "HOOK_URL"}

    try:
        load_config(config, environment)
    except ConfigRefused as refused:
        pytest.fail(f"{code}\n{refused}")


def commands():
    for name, text in TEXTS.items():
        shown = "".join(blocks(text, "sh", "bash", "console"))
        lines = [line.removeprefix("$ ") for line in shown.splitlines()]
        lines += re.findall(r"`(pr-monitor [a-z][^`\n]*)`", text)
        for line in lines:
            match = re.match(r"(?:\S*/)?pr-monitor (.*)", line)
            if match and "..." not in match[1].split("#")[0].replace('"..."', ""):
                yield pytest.param(match[1], id=f"{name}: {match[1]}")


@pytest.mark.parametrize("words", list(commands()))
def test_each_command_in_the_docs_exists_with_its_options(words):
    group = generator("generate")["get_command"](generator("generate")["app"])
    given = shlex.split(words.replace("`", ""), comments=True)
    given = given[: given.index("|")] if "|" in given else given
    command = group
    while given and given[0] in getattr(command, "commands", {}):
        command = command.commands[given.pop(0)]
    only_holds = hasattr(command, "commands") and not command.invoke_without_command
    assert not only_holds or not given or given[0].startswith("-"), f"no command {given[0]}"
    options = {opt for each in command.params for opt in (*each.opts, *each.secondary_opts)}
    options |= {"--help", "-h", "--install-completion", "--show-completion", "--version"}

    assert [word for word in given if re.match(r"--?[a-z]", word) and word not in options] == []


def test_the_docs_are_no_longer_than_a_person_reads():
    reference = [DOCS / "reference"]
    words = sum(
        len(re.sub(r"^( *)```.*?^\1```", "", text, flags=re.DOTALL | re.MULTILINE).split())
        for name, text in TEXTS.items()
        if name.startswith("docs/") and not any((ROOT / name).is_relative_to(r) for r in reference)
    )

    assert words <= MOST_PROSE, f"shorten a page: {words - MOST_PROSE} words too many"
    assert len(TEXTS["README.md"].split()) <= MOST_README


def test_each_page_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text()
    pages = [str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")]
    listed = set(re.findall(r"(\S+\.md)$", menu, re.MULTILINE))

    assert [name for name in pages if name not in listed] == []


def test_every_fence_of_a_page_is_closed():
    made = {"statistics": MADE["page"](), **TEXTS}

    assert [name for name, text in made.items() if text.count("```") % 2] == []


def test_each_appendix_of_the_method_names_its_code_and_its_tests():
    appendices = re.split(r"^## (?=[A-Z]\. )", page("method"), flags=re.MULTILINE)[1:]

    assert len(appendices) > 8
    for text in appendices:
        named = re.search(r"^Code: (.+?)\. Tests:\s(.+?)\.$", text, re.MULTILINE | re.DOTALL)
        assert named, text.splitlines()[0]
        for files in named.groups():
            paths = re.findall(r"`(\S+)`", files)
            assert paths, text.splitlines()[0]
            assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_every_file_folder_and_package_is_named_as_it_is_on_the_page_about_the_architecture():
    text = page("architecture")
    named = set(re.findall(r"`((?:[a-z_0-9]+/)+(?:[a-z_0-9]+\.py)?)", text))
    places = (ROOT / "monitor", ROOT)
    picture = text.split("```")[1]
    packages = [
        path.name for path in (ROOT / "monitor").iterdir() if (path / "__init__.py").exists()
    ]

    assert len(named) > 30
    assert {name for name in named if not any((at / name).exists() for at in places)} == set()
    assert len(packages) > 10
    assert {name for name in packages if f"{name}/" not in picture} == {"testing"}


# The pages that are made of docstrings, and the examples of notices


def test_pages_about_python_statistics_and_metrics_have_every_public_function_and_metric():
    python, statistics, metrics = (MADE[name]() for name in ("python_page", "page", "metrics_page"))

    assert [name for name in monitor.__all__ if f"\n## {name}\n" not in python] == []
    functions = [name for name in stats.__all__ if name[0].islower()]
    assert [name for name in functions if f"\n### {name}\n" not in statistics] == []
    assert [name for name in METRICS if f"| `{name}`: " not in metrics] == []


def test_the_examples_of_notices_are_current_and_say_what_how_sure_what_changed_and_what_to_do():
    text = page("on-call")
    current = generator("generate_notices")["page"]
    alert = text.split("### An alert", 1)[1].split("### A stale round", 1)[0]

    assert current(text) == text, "run python docs/generate_notices.py"
    for part in (
        "precision is under its limit 0.7",
        "% interval ",
        "At most one false alarm per 52 rounds is promised",
        "prevalence 7.4 % -> 1.2 % explains",
        "What to do: pr-monitor show",
        "In MLflow:",
    ):
        assert part in alert.replace("\n          ", " ").replace("\n      ", " "), part


def test_the_figures_of_the_examples_of_three_professions_are_recomputed(capsys):
    helper, *programs = blocks(page("professions"), "python")
    shown = blocks(page("professions"), "text")
    names: dict[str, object] = {}
    exec(helper, names)  # noqa: S102  the page's own code

    assert len(programs) == len(shown) == 3
    for program, text in zip(programs, shown, strict=True):
        exec(program, names)  # noqa: S102
        assert capsys.readouterr().out == text


@pytest.mark.slow
def test_the_tutorial_about_chargebacks_runs_as_it_stands(tmp_path):
    text = page("chargebacks")
    config, limits = blocks(text, "yaml")
    (tmp_path / "config.yaml").write_text(config)
    (program,) = blocks(text, "python")
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    printed = ""
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "COLUMNS": "100"}
    for part in re.split(r"^## ", text, flags=re.MULTILINE):
        if part.startswith("5."):
            (tmp_path / "config.yaml").write_text(config + limits)
        for line in "".join(blocks(part, "sh")).splitlines():
            printed += subprocess.run(
                shlex.split(line),
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout

    for shown in blocks(text, "text"):
        assert " ".join(shown.split()) in " ".join(printed.split())
