"""What changed between two readings of a config file, in words that may be logged.

The file as it was written is compared, with `${NAME}` for what the environment holds, so that no
secret is ever at hand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.config.block_requests import BLOCKS
from monitor.config.blocks import written_out
from monitor.config.load import shown
from monitor.config.yaml_tree import Scalar, Tree, Way, read_yaml

if TYPE_CHECKING:
    from monitor.config.model import Config

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
    tree = written_out(read_yaml(path)).tree
    result: Written = {"": {}}
    for way in tree.lines:
        value = tree.at(way)
        if isinstance(value, dict | list):
            continue
        monitor = _monitor_of(tree, way)
        key_path = way if monitor is None else way[2:]
        if monitor is not None and key_path[0] in BLOCKS:
            continue  # its values are monitors, which are added and removed
        result.setdefault(monitor or "", {})[_joined(key_path)] = value
    return result


def changes(before: tuple[Config, Written], after: tuple[Config, Written]) -> ConfigDiff:
    """Compare two readings.

    ``unseen`` says that the files are the same but what they name (a variable, a secret's file)
    is not.
    """
    names_before, names_after = _names(before[0]), _names(after[0])
    changes = ConfigDiff(
        added=_without(names_after, names_before),
        removed=_without(names_before, names_after),
        changed=_changed(before[1], after[1]),
    )
    return changes if changes or before[0] == after[0] else ConfigDiff(unseen=True)


def _without(names: list[str], others: list[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in others)


def _changed(old: Written, new: Written) -> dict[str, tuple[str, ...]]:
    """Compare what both readings have, the whole first, then monitors as the new one has them."""
    both = [name for name in new if name in old]
    lines = {name: _lines(old[name], new[name]) for name in both}
    return {name: changed for name, changed in lines.items() if changed}


def _names(config: Config) -> list[str]:
    return [monitor.name for monitor in config.monitors]


def _monitor_of(tree: Tree, way: Way) -> str | None:
    if len(way) < 3 or way[0] != "monitors":  # noqa: PLR2004  monitors, place, setting
        return None
    name_way = (*way[:2], "name")
    return str(tree.at(name_way)) if name_way in tree.lines else None


def _joined(way: Way) -> str:
    return ".".join(str(part) for part in way)


def _lines(old: Mapping[str, Scalar], new: Mapping[str, Scalar]) -> tuple[str, ...]:
    keys = [*old, *(key for key in new if key not in old)]
    return tuple(_line(key, old, new) for key in keys if _differ(old, new, key))


def _differ(old: Mapping[str, Scalar], new: Mapping[str, Scalar], key: str) -> bool:
    return (key in old) != (key in new) or old.get(key) != new.get(key)


def _line(key: str, old: Mapping[str, Scalar], new: Mapping[str, Scalar]) -> str:
    if key.startswith(_UNTOLD):
        return f"{key} changed"
    before, after = (shown(each[key]) if key in each else "not set" for each in (old, new))
    return f"{key}: {before} -> {after}"
