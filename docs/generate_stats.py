"""Makes the pages of the site about `monitor.stats`, `monitor` and the metrics (`make docs`).

The docstrings are the source; here they only become Markdown. Their examples run as doctests.
`python docs/generate_stats.py` prints the page about `monitor.stats`.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import monitor
import monitor.stats
from monitor.stats.core.metrics import METRICS, Matrix

SIGNATURE_WIDTH = 100

HEAD = """\
# Statistics

`monitor.stats` needs numpy and scipy only: no config, no database, no MLflow. It takes counts and
gives numbers, so a notebook can use it alone. From one labeled sample of two score bands a class:

```python
>>> from monitor.stats import Counts, estimate
>>> counts = Counts.of_arrays(
...     size=[900, 700, 28_000, 20_400],   # items in each stratum of the window
...     labeled=[90, 70, 160, 340],        # drawn at random from each and labeled
...     positive=[88, 50, 0, 9],           # found to be positive
...     is_flagged=[True, True, False, False],
... )
>>> for found in estimate(counts, metrics=("precision", "recall", "mcc")).values():
...     print(found)
{printed}
```

Everything below is in `monitor.stats` unless another module is named. Symbols and sources are in
[the method](../method.md).

{shared}
"""

EXAMPLE = Matrix(tp=138, fp=22, fn=108, tn=4732)

METRICS_HEAD = """\
# Metrics

Every round estimates all of these, each with an interval. TP, FP, FN and TN are items of the window,
scaled up from the labels; N is all of its items. A metric that would divide by zero has no value and a
reason. It is never 0 and never infinite. The example is of TP 138, FP 22, FN 108, TN 4,732.

{table}

- Write a metric that stands here under `limits` as far as [the config](config.md#monitors-limits) lists it.
- Each metric comes as `window` and `rate`, from the round alone and pooled: [concepts](../concepts/index.md).
- MLflow has a dozen numbers of each round: [in MLflow](../how-to/mlflow.md#a-dozen-metrics).
- Prometheus has the numbers of the service: [metrics of the service](prometheus.md).
"""


def page() -> str:
    """Return the page about `monitor.stats`."""
    modules = public_modules()
    shared = markdown(inspect.getdoc(monitor.stats) or "").split("\n\n")[-1]
    head = HEAD.replace("{printed}", first_output()).replace("{shared}", shared)
    parts = [head, contents(modules)]
    parts += [module_section(name, members) for name, members in modules.items()]
    return "\n".join(parts)


def python_page() -> str:
    """Return the page about the functions and errors of `monitor`."""
    module = inspect.getdoc(monitor) or ""
    parts = ["# Python", "```python\nimport monitor\n```", markdown(module)]
    things = [(name, getattr(monitor, name)) for name in monitor.__all__]
    for name, thing in sorted(things, key=lambda pair: inspect.isclass(pair[1])):  # errors last
        is_error = inspect.isclass(thing)
        shown = f"class monitor.{name}" if is_error else f"monitor.{name}{signature(thing)}"
        parts += [f"## {name}", f"```python\n{shown}\n```", markdown(inspect.getdoc(thing) or "")]
    return "\n\n".join(parts) + "\n"


def metrics_page() -> str:
    """Return the page about the metrics: formula, when there is no value, an example."""
    lines = ["| metric | formula | no value where | example |", "|---|---|---|---|"]
    for name, metric in METRICS.items():
        reason = metric.undefined.value.replace("_", " ")
        lines.append(f"| `{name}`: {metric.meaning} | {metric.written} | {reason} | {metric(EXAMPLE):.4f} |")
    return METRICS_HEAD.replace("{table}", "\n".join(lines))


def first_output() -> str:
    """Run the example of the head."""
    counts = monitor.stats.Counts.of_arrays(
        size=[900, 700, 28_000, 20_400],
        labeled=[90, 70, 160, 340],
        positive=[88, 50, 0, 9],
        is_flagged=[True, True, False, False],
    )
    result = monitor.stats.estimate(counts, metrics=("precision", "recall", "mcc"))
    return "\n".join(str(each) for each in result.values())


def public_modules() -> dict[str, list[tuple[str, Any]]]:
    """Return the public functions and classes by the module that defines them."""
    result: dict[str, list[tuple[str, Any]]] = {}
    for name in monitor.stats.__all__:
        thing = getattr(monitor.stats, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            result.setdefault(thing.__module__, []).append((name, thing))
    return dict(sorted(result.items(), key=lambda pair: pair[0]))


def contents(modules: dict[str, list[tuple[str, Any]]]) -> str:
    """List everything with its first sentence."""
    lines = ["| name | what it does |", "|---|---|"]
    for members in modules.values():
        for name, thing in members:
            summary = markdown(inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
            lines.append(f"| [`{name}`](#{name.lower()}) | {escaped(summary)} |")
    return "\n".join([*lines, ""])


def escaped(text: str) -> str:
    """Make a text fit for a cell."""
    return text.replace("|", "\\|")


def module_section(name: str, members: list[tuple[str, Any]]) -> str:
    """Return the part about one module: what it is for, then its functions and classes."""
    text = markdown(inspect.getdoc(importlib.import_module(name)) or "")
    title, _, rest = text.partition("\n\n")
    heading = title.replace("\n", " ").rstrip(".")
    parts = [f"## {heading}", f"`{name}`", rest, *(member(*each) for each in members)]
    return "\n\n".join(part for part in parts if part) + "\n"


def member(name: str, thing: Any) -> str:
    """Return the part about one function or class."""
    shown = f"{name}{signature(thing)}" if inspect.isfunction(thing) else f"class {name}"
    text = [f"### {name}", f"```python\n{shown}\n```", markdown(inspect.getdoc(thing) or "")]
    if inspect.isclass(thing):
        text += [method(name, *each) for each in methods(thing)]
    return "\n\n".join(text)


def methods(thing: type) -> list[tuple[str, Any]]:
    """Return the public methods that a class defines itself, and how they are called."""
    results = []
    for name, value in vars(thing).items():
        called = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if not name.startswith("_") and inspect.isfunction(called):
            results.append((name, called))
    return results


def method(owner: str, name: str, called: Any) -> str:
    """Return the part about one method."""
    return f"#### {owner}.{name}\n\n{markdown(inspect.getdoc(called) or '')}"


def signature(thing: Any) -> str:
    """Write the parameters and their defaults, without types: those are said below it."""
    result = inspect.signature(thing)
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in result.parameters.values()
    ]
    short = str(result.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    if len(short) < SIGNATURE_WIDTH:
        return short
    return "(\n    " + ",\n    ".join(short[1:-1].split(", ")) + ",\n)"


def markdown(docstring: str) -> str:
    """Turn numpydoc with reStructuredText into Markdown."""
    text = re.sub(r":math:`(.+?)`", _math, docstring, flags=re.DOTALL)
    text = re.sub(r":\w+:`(.+?)`", r"`\1`", text)
    text = re.sub(r"``(.+?)``", r"`\1`", text, flags=re.DOTALL)
    return "\n".join(blocks(sections(text.splitlines()))).strip()


def _math(match: re.Match[str]) -> str:
    return f"${' '.join(match[1].split())}$"


def sections(lines: list[str]) -> list[str]:
    """Turn underlined headings into bold ones, and the entries under them into lists."""
    results: list[str] = []
    inside = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if re.fullmatch(r"-{3,}", following) and line:
            inside = line
            results.append(f"**{line}**")
        elif re.fullmatch(r"-{3,}", line):
            results.append("")
        elif inside in {"Parameters", "Raises", "Returns"} and line and line[0] != " ":
            is_entry = following.startswith("    ")
            results.append(f"- `{line}`:" if is_entry else line)
        else:
            results.append(line)
    return results


def blocks(lines: list[str]) -> list[str]:
    """Fence displayed formulas and examples."""
    results: list[str] = []
    fence = ""
    for line in lines:
        starts = "math" if line.startswith(".. math::") else ""
        starts = starts or ("python" if line.startswith(">>> ") and fence != "python" else "")
        ends = fence == "python" and not line
        ends = ends or (fence == "math" and bool(line) and not line.startswith(" "))
        if fence and (ends or starts):
            while results and not results[-1]:
                results.pop()
            results += ["```", ""]
            fence = ""
        if starts:
            results += ["", f"```{starts}"] if results and results[-1] else [f"```{starts}"]
            fence = starts
        if starts == "math":
            line = line.removeprefix(".. math::")  # noqa: PLW2901
        if fence != "math" or line.strip():
            results.append(line.strip() if fence == "math" else line)
    return [*results, "```"] if fence else results


if __name__ == "__main__":
    sys.stdout.write(page())
