"""The certificate of the pages and its key: whether they can be used, and for how long."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509

from monitor.domain.errors import ConfigRefused
from monitor.presentation.numbers import minute_text

if TYPE_CHECKING:
    from monitor.config.pages import TlsSettings

SOON = timedelta(days=14)  # How long before its end a certificate is worth a word


def key_files(tls: TlsSettings, folder: Path) -> tuple[Path, Path]:
    """Find certificate and key, and make sure that they belong together.

    Raises `ConfigRefused` if they cannot be read, or are not what they should be.
    """
    certificate, key = folder / tls.certificate, folder / tls.key
    for setting, path in (("certificate", certificate), ("key", key)):
        try:
            path.read_bytes()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            message = f"pages.tls.{setting}: {path} cannot be read: {reason}; check the path"
            raise ConfigRefused(message) from None
    _load(certificate, key)
    return certificate, key


def _load(certificate: Path, key: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # Without a password here OpenSSL would ask for one, and a service would wait for ever.
        context.load_cert_chain(certificate, key, password=_no_password)
    except _PasswordRequired:
        message = f"pages.tls.key: {key} has a password, which nobody can give a service; take one"
        message += " without, in a file that is closed to other users"
        raise ConfigRefused(message) from None
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None)
        if reason == "KEY_VALUES_MISMATCH":
            message = f"pages.tls: the key {key} is not that of the certificate {certificate}"
        else:
            message = (
                f"pages.tls: {certificate} and {key} cannot be used; they have to be a certificate "
                "and its key in PEM (-----BEGIN CERTIFICATE-----, -----BEGIN PRIVATE KEY-----)"
            )
        raise ConfigRefused(message) from None


class _PasswordRequired(Exception):
    pass


def _no_password() -> str:
    raise _PasswordRequired


def certificate_warnings(
    tls: TlsSettings, folder: Path, names: Sequence[str], now: datetime
) -> tuple[str, list[str]]:
    """Describe until when a certificate is good, and what about it needs a look."""
    path, key = key_files(tls, folder)
    first = x509.load_pem_x509_certificates(path.read_bytes())[0]
    since, until = first.not_valid_before_utc, first.not_valid_after_utc
    if not since <= now < until:
        at = f"ended {minute_text(until)}" if now >= until else f"begins {minute_text(since)}"
        message = f"pages.tls.certificate: {path} {at} UTC, so no browser believes it; renew it"
        raise ConfigRefused(message)
    checks = []
    if until - now < SOON:
        checks.append(f"the certificate {path} ends {until:%Y-%m-%d}; renew it and restart serve")
    if strange := [name for name in names if not _covers(first, name)]:
        checks.append(
            f"the certificate {path} is not for {', '.join(strange)}, so browsers warn of it"
        )
    if key.stat().st_mode & 0o007:
        checks.append(f"every user of this machine may read the key {key}; run: chmod o= {key}")
    return f"certificate until {until:%Y-%m-%d}", checks


def _covers(certificate: x509.Certificate, name: str) -> bool:
    try:
        alternative_names = certificate.extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        ).value
    except x509.ExtensionNotFound:
        return False  # browsers look nowhere else
    covered = [one.lower() for one in alternative_names.get_values_for_type(x509.DNSName)]
    covered += [str(one) for one in alternative_names.get_values_for_type(x509.IPAddress)]
    return name.lower() in covered or f"*.{name.lower().partition('.')[2]}" in covered
