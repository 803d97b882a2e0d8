"""Tokens that let users in: long, random, and kept as hashes only."""

from __future__ import annotations

import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

_BYTES = 24
# Of what OWASP names as enough the one with the least memory, since a service has many callers.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


def new_token() -> str:
    """Make a token."""
    return secrets.token_urlsafe(_BYTES)


def hash_of(token: str) -> str:
    """Hash a token as the store keeps it (argon2)."""
    return _HASHER.hash(token)


def fits(token_hash: str | None, token: str) -> bool:
    """Whether a token is the one; where there is no user, None, finding out takes as long."""
    try:
        _HASHER.verify(_nobodys() if token_hash is None else token_hash, token)
    except VerifyMismatchError:
        return False
    return token_hash is not None


@cache
def _nobodys() -> str:
    return hash_of(new_token())
