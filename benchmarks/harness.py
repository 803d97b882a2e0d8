"""What the benchmarks share: types of arrays, and the options of their commands."""

import argparse
import inspect
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import UnionType
from typing import Any, Literal, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


def peak_mb() -> float:
    """Return the most memory that this process ever held."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Do something once; returns processor seconds of this process, and seconds by the clock."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


@contextmanager
def store_on(on_postgres: bool) -> Iterator[str]:
    """Give the address of a store: a file beside the config, or a PostgreSQL of its own."""
    if not on_postgres:
        yield "sqlite:///monitor.db"
        return
    from tests.servers import postgres  # noqa: PLC0415  not where a benchmark is alone

    with postgres() as url:
        yield url


def run(name: str, main: Callable[..., None], text: str | None, words: Sequence[str]) -> None:
    """Call the ``main`` of a benchmark: each of its parameters is an option of the command."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for parameter in inspect.signature(main, eval_str=True).parameters.values():
        option = "--" + parameter.name.replace("_", "-")
        parser.add_argument(option, **_settings(parameter.annotation, parameter.default))
    main(**vars(parser.parse_args(words)))


def _settings(kind: Any, default: Any) -> dict[str, Any]:
    if kind is bool:
        return {"action": "store_true"}
    if default is inspect.Parameter.empty:
        return {"type": kind, "required": True}
    if isinstance(kind, UnionType):
        kind = get_args(kind)[0]
    settings = {"default": default}
    if get_origin(kind) is tuple:
        settings["nargs"] = "*"
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        return {**settings, "choices": get_args(kind), "type": type(get_args(kind)[0])}
    return {**settings, "type": kind}
