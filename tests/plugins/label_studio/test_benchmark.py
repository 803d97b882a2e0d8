"""The benchmark of the labeling page runs in Label Studio too, at a tiny size."""

import pytest

from benchmarks.labeling_page import labeling_stream, mail, timed
from tests.service.pages.browsers import chromium

pytestmark = [pytest.mark.server, pytest.mark.slow]


def test_each_answer_is_timed_and_takes_a_key_and_a_chord(label_studio):
    mails = [mail(number, 100) for number in range(4)]

    with chromium() as browser:
        answer = labeling_stream(browser, label_studio, mails)
        found = timed(browser, answer, 3)

    assert len(found.took) == 3
    assert all(0 < one < 60_000 for one in found.took)
    assert found.inputs() == "3 keys"
