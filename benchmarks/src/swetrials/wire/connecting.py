"""How an HTTP client of the harness reaches a base URL: past the proxies on this machine, and with its certificates.

httpx reads proxies and certificates from the environment, or neither (``trust_env``). What is on loopback must not go
by a proxy, and may still show a certificate of an authority of one's own; so the certificates are read here.
"""

import os
import ssl
from typing import TypedDict

import certifi

from swetrials.errors import KnownError
from swetrials.wire.model_list import is_loopback


class CertificateError(KnownError):
    """The certificates that a variable names cannot be read."""


class Connection(TypedDict):
    """Arguments of ``httpx.Client`` and ``httpx.AsyncClient``."""

    verify: ssl.SSLContext
    trust_env: bool


def connection(base_url: str) -> Connection:
    """Return the arguments of a client for a base URL.

    Raises:
        CertificateError: ``SSL_CERT_FILE`` or ``SSL_CERT_DIR`` name nothing that can be read.
    """
    return Connection(verify=_trusted(), trust_env=not is_loopback(base_url))


def _trusted() -> ssl.SSLContext:
    """Return what httpx trusts with ``trust_env``: the authorities of the environment, else those of certifi."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    try:
        if file or not folder:
            return ssl.create_default_context(cafile=file or certifi.where())
        return ssl.create_default_context(capath=folder)
    except OSError as error:
        name, place = ("SSL_CERT_FILE", file) if file else ("SSL_CERT_DIR", folder)
        raise CertificateError(f"{name}: {place}: no certificates can be read: {error.strerror or error}") from None
