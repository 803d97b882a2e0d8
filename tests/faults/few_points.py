"""Estimates that cost milliseconds: what is tested is not how fine they are."""

from __future__ import annotations

import inspect
import sys


def fewer_points(points: int) -> None:
    """Lower the number of Sobol points wherever a loaded module of the product has one."""
    for name, module in list(sys.modules.items()):
        if name.startswith("monitor.rounds.") and hasattr(module, "POINTS"):
            vars(module)["POINTS"] = points
    modules = [m for name, m in sys.modules.items() if name.startswith("monitor.stats.")]
    functions = {f for module in modules for _, f in inspect.getmembers(module, inspect.isfunction)}
    for function in functions:
        named = inspect.signature(function).parameters.get("points")
        if named is None or named.default is inspect.Parameter.empty:
            continue
        if function.__kwdefaults__ and "points" in function.__kwdefaults__:
            function.__kwdefaults__["points"] = points
        else:
            names = [
                p.name
                for p in inspect.signature(function).parameters.values()
                if p.default is not p.empty and p.kind is not p.KEYWORD_ONLY
            ]
            values = list(function.__defaults__ or ())
            values[names.index("points")] = points
            function.__defaults__ = tuple(values)
