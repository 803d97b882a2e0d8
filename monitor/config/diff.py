"""What changed between two readings of a config file, in words that may be logged.

The file as it was written is compared, with `${NAME}` for what the environment holds, so that no
secret is ever at hand here.
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
"""Sections whose values are not shown: addresses and arguments that may be worth hiding."""

Written = dict[str, dict[str, "Scalar"]]
"""Settings as the file has them, by monitor name; under an empty name those of the whole."""


@dataclass(frozen=True, slots=True)
class ConfigDiff:
    """How a config differs from the one before; ``changed`` has each setting, old and new."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unseen: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.unseen)


def written(path: Path) -> Written:
    """Read the settings as they are in the file, nothing put in for `${NAME}`."""
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

    ``unseen`` says that the files are the same but what they name (a variable, a secret's file)
    is not.
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
