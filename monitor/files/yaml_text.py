"""Texts and names as they stand in a config."""

from __future__ import annotations

import json
import re

WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off"})
"""What YAML does not read as a text, unless it is quoted."""


def yaml_text(text: str) -> str:
    """Write a text so that YAML and ``${NAME}`` leave it as it is.

    >>> print(yaml_text("outputs.flagged"), yaml_text("yes"), yaml_text("${HOME}"))
    outputs.flagged "yes" "$${HOME}"
    """
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_./*-]*", text) and text.lower() not in WORDS:
        return text
    quoted = json.dumps(text.replace("${", "$${"), ensure_ascii=False)
    return re.sub(
        "[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]",
        lambda match: f"\\u{ord(match[0]):04x}",
        quoted,
    )


def monitor_name(text: str) -> str:
    """Make a monitor's name from a text; empty if no character may be in one."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.")[:100]
