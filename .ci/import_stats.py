"""Import every module of `monitor.stats`: ``PYTHONPATH=. python .ci/import_stats.py``.

Run it in an environment with numpy and scipy alone. It fails if a module needs anything else.
"""

from __future__ import annotations

import importlib
import pkgutil

import monitor.stats

names = [module.name for module in pkgutil.walk_packages(monitor.stats.__path__, "monitor.stats.")]
for name in names:
    importlib.import_module(name)  # noqa: TID251
print(f"imported {len(names)} modules of monitor.stats with numpy and scipy alone")  # noqa: T201
