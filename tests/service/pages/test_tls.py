"""Pages under https, by a real server and a certificate of the test's own."""

import re
import ssl
from datetime import UTC, datetime

import httpx
import pytest
import structlog

from tests.certificates import write_certificate
from tests.service.pages.site import Site, serving


@pytest.fixture
def site(database):
    return Site(database, now=datetime.now(UTC))


def browser(certificate):
    trust = ssl.create_default_context(cafile=str(certificate))
    return httpx.Client(verify=trust, trust_env=False, follow_redirects=True, timeout=30)


def test_a_user_signs_in_under_https_alone_and_what_anybody_forwards_is_not_believed(
    site, tmp_path
):
    certificate = write_certificate(tmp_path)
    token = site.add("ada")

    with (
        serving(site, tmp_path) as at,
        browser(certificate) as client,
        structlog.testing.capture_logs() as lines,
    ):
        forged = {"x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "http"}
        data = {"name": "ada", "password": token}
        page = client.post(f"{at}/sign-in", data=data, headers={**forged, "origin": at})
        with pytest.raises(httpx.HTTPError):
            httpx.get(at.replace("https://", "http://") + "/sign-in", trust_env=False)

    assert re.fullmatch(r"https://localhost:\d+", at)
    assert page.status_code == 200
    assert str(page.url) == f"{at}/label"
    assert "Labeling as <bdi>ada</bdi>" in page.text
    [cookie] = client.cookies.jar
    assert cookie.name.startswith("__Host-pr_monitor_")
    assert cookie.secure
    assert {"user": "ada", "address": "127.0.0.1"}.items() <= next(
        line for line in lines if line["event"] == "signed in"
    ).items()
