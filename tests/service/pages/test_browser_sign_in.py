"""A person signs in under https, in a real browser."""

from datetime import UTC, datetime

import pytest

from tests.certificates import write_certificate
from tests.service.pages.browsers import chromium
from tests.service.pages.site import Site, serving

TRUSTS_ANY = ("--ignore-certificate-errors",)


def fill(one, name, password):
    for selector, words in (("#name", name), ("#password", password)):
        field = one.find(selector)
        field.clear()
        field.send_keys(words)
    one.find("main button").click()


@pytest.mark.slow
def test_a_person_signs_in_leaves_and_is_out(database, tmp_path):
    """Without scripts, and on the smallest phone."""
    write_certificate(tmp_path)
    site = Site(database, now=datetime.now(UTC))
    token = site.add("Ada")
    narrow = {"width": 320, "height": 568, "deviceScaleFactor": 1, "mobile": True}

    with serving(site, tmp_path) as at, chromium(javascript=False, flags=TRUSTS_ANY) as one:
        one.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
        one.driver.get(f"{at}/label")
        asked = one.text("h1")
        fill(one, "Ada", "wrong")
        one.until(lambda: one.has("#problem"))
        refused = one.text("#problem")
        width = one.driver.execute_script("return document.documentElement.scrollWidth")
        fields = [field.accessible_name for field in one.all("main input")]
        describes = one.find("#password").get_attribute("aria-describedby")
        heights = [field.size["height"] for field in one.all("main input, main button")]
        is_focused = one.find("#password") == one.driver.switch_to.active_element
        fill(one, "Ada", token)
        one.until(lambda: one.has(".who"))
        inside = one.text(".who")
        [cookie] = one.driver.get_cookies()
        one.find(".who button").click()
        one.until(lambda: not one.has(".who"))
        one.driver.get(f"{at}/label")
        outside = one.driver.current_url
        requests, severe = one.requests(), [row for row in one.log() if row["level"] == "SEVERE"]

    assert asked == "Sign in"
    assert refused == "This name and this token do not go together."
    assert (fields, describes, is_focused) == (["Name", "Token"], "problem", True)
    assert width <= 320
    assert min(heights) >= 44
    assert "Labeling as Ada" in inside
    assert cookie["name"].startswith("__Host-")
    assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Strict")
    assert outside == f"{at}/sign-in"
    assert {url for url in requests if url.startswith("http") and not url.startswith(at)} == set()
    assert [row["message"] for row in severe if "401" not in row["message"]] == []
