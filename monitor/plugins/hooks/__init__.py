"""Hooks beside the built-in ones: Apprise and a program."""
