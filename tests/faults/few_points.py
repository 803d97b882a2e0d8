"""Estimates that cost milliseconds: what is tested is not how fine they are."""

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
    return [
        (vars(module), name)
        for module in _modules(monitor.rounds)
        for name in ("POINTS", "_DRAWS")
        if hasattr(module, name)
    ]


@cache
def _parameters():
    """Functions that draw as many Sobol points, a power of 2, or curves as a parameter says."""
    functions = {
        function
        for module in _modules(monitor.stats)
        for _, function in inspect.getmembers(module, inspect.isfunction)
    }
    found = [
        (function, parameter)
        for function in functions
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name in {"points", "draws"} and isinstance(parameter.default, int)
    ]
    return [(of, p) for of, p in found if p.name == "draws" or not p.default & (p.default - 1)]


def _with_default(function, name, points):
    """Positional defaults of a function with another number of points."""
    parameters = inspect.signature(function).parameters.values()
    names = [
        p.name for p in parameters if p.default is not p.empty and p.kind is not p.KEYWORD_ONLY
    ]
    values = list(function.__defaults__)
    values[names.index(name)] = points
    return tuple(values)


def _lower(patch, points):
    for constants, name in _constants():
        patch.setitem(constants, name, min(points, constants[name]))
    for function, parameter in _parameters():
        name, fewer = parameter.name, min(points, parameter.default)
        if name in (function.__kwdefaults__ or {}):
            patch.setitem(function.__kwdefaults__, name, fewer)
        else:
            patch.setattr(function, "__defaults__", _with_default(function, name, fewer))


@contextmanager
def few_points(points: int):
    """Lower the number of Sobol points and of drawn curves of the product for a while."""
    with pytest.MonkeyPatch.context() as patch:
        _lower(patch, points)
        yield


def fewer_points(points: int) -> None:
    """Lower it for as long as this process lives."""
    _lower(pytest.MonkeyPatch(), points)
