"""The command line. Commands load what they need when they run, so that help is instant."""

from __future__ import annotations

from monitor.cli.app import main

__all__ = ["main"]
