"""Differences between two readings of a config file, safe to log.

Compares the file as written, with `${NAME}` in place of values of the environment, so this module
never handles secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from monitor.config.blocks import BLOCKS, written_out
from monitor.config.load import shown
from monitor.config.model import Config
from monitor.config.yaml_tree import Scalar, Tree, Way, read_yaml

_UNTOLD = ("hooks",)
"""Sections whose values are not shown, since addresses and arguments may be confidential."""

Written = dict[str, dict[str, "Scalar"]]
"""Settings as written in the file, by monitor name; global settings are under an empty name."""


@dataclass(frozen=True, slots=True)
class ConfigDiff:
    """Differences from the previous config; ``changed`` has a line for each changed setting."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unseen: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.unseen)


def written(path: Path) -> Written:
    """Read the settings as written in the file, without replacing `${NAME}`."""
    tree = written_out(read_yaml(path))[0]
    result: Written = {"": {}}
    for way in tree.lines:
        value = tree.at(way)
        if isinstance(value, dict | list):
            continue
        monitor = _monitor_of(tree, way)
        key_path = way if monitor is None else way[2:]
        if monitor is not None and key_path[0] in BLOCKS:
            continue  # its values are monitors, which are added and removed
        result.setdefault(monitor or "", {})[".".join(map(str, key_path))] = value
    return result


def changes(before: tuple[Config, Written], after: tuple[Config, Written]) -> ConfigDiff:
    """Compare two readings.

    ``unseen``: the files are equal, but a variable or secret file that they refer to has changed.
    """
    names, old_names = ([one.name for one in each[0].monitors] for each in (after, before))
    old, new = before[1], after[1]
    lines = {name: _lines(old[name], new[name]) for name in new if name in old}
    changes = ConfigDiff(
        added=tuple(name for name in names if name not in old_names),
        removed=tuple(name for name in old_names if name not in names),
        changed={name: changed for name, changed in lines.items() if changed},
    )
    return changes if changes or before[0] == after[0] else ConfigDiff(unseen=True)


def _monitor_of(tree: Tree, way: Way) -> str | None:
    if len(way) < 3 or way[0] != "monitors":  # noqa: PLR2004  monitors, place, setting
        return None
    name_way = (*way[:2], "name")
    return str(tree.at(name_way)) if name_way in tree.lines else None


def _lines(old: Mapping[str, Scalar], new: Mapping[str, Scalar]) -> tuple[str, ...]:
    keys = [*old, *(key for key in new if key not in old)]
    return tuple(
        _line(key, old, new)
        for key in keys
        if (key in old) != (key in new) or old.get(key) != new.get(key)
    )


def _line(key: str, old: Mapping[str, Scalar], new: Mapping[str, Scalar]) -> str:
    if key.startswith(_UNTOLD):
        return f"{key} changed"
    before, after = (shown(each[key]) if key in each else "not set" for each in (old, new))
    return f"{key}: {before} -> {after}"
