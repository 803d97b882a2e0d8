"""Secrets in what other programs say: taken out in every form, and nothing else with them."""

import base64
from urllib.parse import quote

import pytest

from monitor.domain.errors import StoppedByBug
from monitor.domain.masking import masked, secrets_of

QUOTED = (
    "https://ada:canary@host:5000/x is away",
    "https://canary@host/x is away",
    "postgresql+psycopg://ada:canary/1@host/db is away",
    "postgresql://ada:can@canary@host/db is away",
    "GET /b?X-Amz-Credential=canary&X-Amz-Signature=canary&X-Amz-Security-Token=canary",
    "GET https://acc.blob.core.windows.net/c?sv=2020&sig=canary%2F1&se=2",
    "AccountName=acc;AccountKey=canary==;EndpointSuffix=x",
    "SharedAccessSignature=canary",
    "{'aws_secret_access_key': 'canary', \"token\": \"canary\"}",
    "Illegal header value b'Bearer canary1'",
    "headers: authorization: Basic canary1",
    "<Code>No</Code><AWSAccessKeyId>canary</AWSAccessKeyId><StringToSign>canary</StringToSign>",
    "password=canary host=h",
    "-----BEGIN RSA PRIVATE KEY-----\ncanary\n-----END RSA PRIVATE KEY-----",
)
HARMLESS = (
    "no column 'mail_id' in the table s3://lake/predictions; did you mean 'token_id'?",
    "secret key not in StorageOptions: environment variable not set",
    "HTTPConnectionPool(host='127.0.0.1', port=9): Max retries exceeded with url: /v1/config",
    "(psycopg.OperationalError) connection to server at 127.0.0.1, port 9 failed",
    "abfss://container@account.dfs.core.windows.net/predictions is not there",
    "Basic authentication is off; write to ops@example.org, see https://example.org:80/a",
)


@pytest.mark.parametrize("text", QUOTED)
def test_what_looks_like_a_secret_by_its_place_is_taken_out(text):
    assert "canary" not in masked(text)
    assert "***" in masked(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_holds_no_secret_stays_as_it_is(text):
    assert masked(text) == text


@pytest.mark.parametrize("write", [str, lambda text: quote(text, safe=""), repr, ascii])
def test_a_known_secret_is_taken_out_however_it_is_written(write):
    secret = "k/€y 'of' mine\n"  # noqa: S105

    assert masked(f"cannot use {write(secret)} here", [secret]).count("***") == 1


def test_secrets_of_settings_are_those_of_names_and_of_addresses_and_parts_of_pairs():
    options = {
        "uri": "postgresql://ada:in-address@host/db?sslpassword=in-query",
        "credential": "client:half",
        "header.Authorization": "whole",
        "warehouse": "s3://lake/warehouse",
        "s3.region": "eu",
    }

    found = secrets_of(options)

    assert found == {"in-address", "in-query", "client:half", "half", "whole"}


def test_a_token_and_a_key_of_amazon_are_known_by_their_form():
    parts = [base64.urlsafe_b64encode(b'{"alg":"HS256"}').decode().rstrip("="), "canary", "canary"]

    assert masked(f"refused {'.'.join(parts)} of AKIAIOSFODNN7EXAMPLE") == "refused *** of ***"


def test_a_bug_is_told_without_what_its_exception_quotes():
    bug = StoppedByBug.of(KeyError("https://ada:canary@host"))

    assert "canary" not in str(bug)


def test_a_secret_of_a_letter_is_taken_out_where_it_stands_alone():
    assert masked("port 9 of p, said p", ["p"]) == "port 9 of ***, said ***"
