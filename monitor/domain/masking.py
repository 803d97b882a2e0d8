"""Removal of secrets from the messages of libraries, which may quote their arguments.

Masks known secrets in every spelling, and anything in a position where secrets usually are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus, unquote

MASK = "***"
_SHORT = 4

_PATTERNS = (
    r"secret|token|passwd|passwords?|pwd|passphrase|credentials?|signature|authorization"
    r"|(?:api|access|account|private|shared|master|encryption)[-_.]?key(?:[-_.]?id)?"
)
_NAME = rf"[\w.\-]*(?:{_PATTERNS}|\bsig\b|\bsas\b)[\w.\-]*"
_AFTER_USER = r"(?!\d+/)[^\s'\"]+"  # but for the port of a host; a password may hold slashes
_SECRET_SETTING = re.compile(
    r"key|secret|token|passw|pwd|credential|sas|authorization", re.IGNORECASE
)

_SECRET_PATTERN = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), replacement)
    for pattern, replacement in (
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", MASK),
        (rf"(://[^/\s:@'\"]*):{_AFTER_USER}@", rf"\1:{MASK}@"),
        (r"(https?://)[^/\s@'\"]+@", rf"\1{MASK}@"),
        (rf"\b({_NAME})=(?!\s)(?:\"[^\"]*\"|'[^']*'|[^\s&;,\"'<>)\]}}]+)", rf"\1={MASK}"),
        (rf"([\"']{_NAME}[\"']\s*:\s*b?)(?:\"[^\"]*\"|'[^']*')", rf"\1'{MASK}'"),
        (r"\b(authorization:\s*)[^\r\n'\",]+", rf"\1{MASK}"),
        (r"\b(bearer|basic)\s+(?=\S*\d|\S{20})[^\s'\",]+", rf"\1 {MASK}"),
        (
            r"<(\w*(?:AccessKeyId|Signature|Token|Secret|StringToSign|CanonicalRequest)\w*)>[^<]*",
            rf"<\1>{MASK}",
        ),
        (r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b", MASK),
        (r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*", MASK),
    )
)
_PASSWORD = re.compile(rf"://[^/\s:@]*:({_AFTER_USER})@")
_QUERY_VALUE = re.compile(rf"[?&;]{_NAME}=([^&;#\s]+)", re.IGNORECASE)


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text with ``***`` in place of secrets.

    >>> masked("no answer of https://ada:hunter2@host/b?X-Amz-Signature=0a1b&x=1")
    'no answer of https://***@host/b?X-Amz-Signature=***&x=1'
    >>> masked("cannot sign with s3cret%2F", ["s3cret/"])
    'cannot sign with ***'
    """
    # The longest first, as one secret may be part of another.
    for form in sorted({form for one in secrets for form in _forms(one)}, key=len, reverse=True):
        text = _without(text, form)
    for pattern, replacement in _SECRET_PATTERN:
        text = pattern.sub(replacement, text)
    return text


def one_at(address: str) -> str:
    """Return the address; raises `ValueError` for a second ``@``, which cuts a password short."""
    if address.count("@") > 1:
        message = "the address has more than one @; write %40 for one in the password"
        raise ValueError(message)
    return address


def secrets_of(options: Mapping[str, str]) -> set[str]:
    """Return the secrets in a library's settings, found by setting name or inside an address.

    >>> sorted(secrets_of({"uri": "postgresql://u:hunter2@h/d", "token": "t0k3n", "type": "sql"}))
    ['hunter2', 't0k3n']
    """
    values = {value for name, value in options.items() if _SECRET_SETTING.search(name)}
    # Of a pair such as "client:secret" either part may be quoted alone.
    values |= {value.partition(":")[2] for value in values}
    for value in options.values():
        values |= {*_PASSWORD.findall(value), *_QUERY_VALUE.findall(value)}
    return {one for one in values if one.strip()}


def _without(text: str, secret: str) -> str:
    """Mask a secret; one of fewer than 4 characters only as a separate word."""
    if len(secret) >= _SHORT:
        return text.replace(secret, MASK)
    return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, text)


def _forms(secret: str) -> Iterator[str]:
    """Generate the spellings in which a message may quote a secret."""
    for plain in {secret, secret.strip(), unquote(secret)}:
        if plain:
            yield from (plain, quote(plain, safe=""), quote(plain), quote_plus(plain))
            yield from (repr(plain)[1:-1], ascii(plain)[1:-1], json.dumps(plain)[1:-1])
