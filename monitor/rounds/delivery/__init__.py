"""Delivering effects in order until they are done, and what to do when a sink is down."""
