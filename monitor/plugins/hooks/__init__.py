"""Hooks beside the built-in ones: Alertmanager, Apprise, a program."""
