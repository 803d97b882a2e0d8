"""The error of a setting that cannot be used, with its name."""

from __future__ import annotations


class SettingRefused(ValueError):
    """A setting cannot be used; as text ``listen: there is no port 0``.

    setting: Its name, below what is checked: ``listen`` or ``sample.bands``.
    why: What is wrong with it and what to do, without its name.
    """

    def __init__(self, *, setting: str, why: str) -> None:
        super().__init__(f"{setting}: {why}")
        self.setting = setting
        self.why = why
