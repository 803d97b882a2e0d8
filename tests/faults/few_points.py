"""Estimates that cost milliseconds: what is tested is not how fine they are."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from contextlib import contextmanager
from functools import cache

import pytest

import monitor.rounds
import monitor.stats


@cache
def _modules(package):
    """All modules of a package; loaded here, so that none comes later with all its points."""
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [importlib.import_module(each.name) for each in found]


@cache
def _constants():
    return [vars(module) for module in _modules(monitor.rounds) if hasattr(module, "POINTS")]


@cache
def _functions():
    """Functions that draw as many Sobol points, a power of 2, as their parameter `points` says."""
    found = {
        function
        for module in _modules(monitor.stats)
        for _, function in inspect.getmembers(module, inspect.isfunction)
        if "points" in inspect.signature(function).parameters
    }
    return [each for each in found if _is_power_of_2(_default(each))]


def _default(function):
    return inspect.signature(function).parameters["points"].default


def _is_power_of_2(default):
    return isinstance(default, int) and default & (default - 1) == 0


def _with_default(function, points):
    """Positional defaults of a function with another number of points."""
    parameters = inspect.signature(function).parameters.values()
    names = [
        p.name for p in parameters if p.default is not p.empty and p.kind is not p.KEYWORD_ONLY
    ]
    values = list(function.__defaults__)
    values[names.index("points")] = points
    return tuple(values)


def _lower(patch, points):
    for constants in _constants():
        patch.setitem(constants, "POINTS", min(points, constants["POINTS"]))
    for function in _functions():
        fewer = min(points, _default(function))
        if "points" in (function.__kwdefaults__ or {}):
            patch.setitem(function.__kwdefaults__, "points", fewer)
        else:
            patch.setattr(function, "__defaults__", _with_default(function, fewer))


@contextmanager
def few_points(points: int):
    """Lower the number of Sobol points of every estimate of the product for a while."""
    with pytest.MonkeyPatch.context() as patch:
        _lower(patch, points)
        yield


def fewer_points(points: int) -> None:
    """Lower it for as long as this process lives."""
    _lower(pytest.MonkeyPatch(), points)
