"""What a gate decides, and how many more labels would decide."""

from xml.etree import ElementTree as Xml

import pytest

import monitor
from monitor.evaluation.gate import Gate, GateState, check_difference, check_metric, more_labels
from monitor.stats.core.counts import Interval
from monitor.stats.estimation.paired import PairedMetric
from tests.evaluation.sets import SIZES, cells


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        (0.70, GateState.KEEPS),
        (0.71, GateState.UNDECIDED),
        (0.90, GateState.UNDECIDED),
        (0.91, GateState.BREAKS),
    ],
)
def test_only_a_whole_interval_decides(limit, verdict):
    check = check_metric("precision", limit, Interval(0.8, 0.7, 0.9), 100)

    assert check.verdict is verdict
    assert (check.more_labels is None) == (verdict is not GateState.UNDECIDED)


@pytest.mark.parametrize(("unlabeled", "more"), [(None, 300), (300, 300), (299, None)])
def test_labels_of_a_population_that_has_fewer_items_are_not_promised_to_decide(unlabeled, more):
    interval = Interval(0.80, 0.70, 0.90)

    check = check_metric("precision", 0.75, interval, 100, unlabeled=unlabeled)

    assert check.more_labels == more
    refused = "about 300 more labels would decide, but only 299 items have none"
    assert (refused in check.text) is (more is None)


def test_a_metric_without_an_estimate_is_undecided_with_the_reason():
    check = check_metric("recall", 0.5, None, 100, "none of the 5 passed items is labeled")

    assert check.verdict is GateState.UNDECIDED
    assert check.text.endswith("not estimable, none of the 5 passed items is labeled")


@pytest.mark.parametrize(
    ("difference", "tolerance", "verdict"),
    [
        ((0.0, 0.0, 0.0), 0, GateState.KEEPS),  # the same classifier
        ((0.05, 0.01, 0.09), 0, GateState.BREAKS),  # the other one is better
        ((0.05, 0.01, 0.09), 0.1, GateState.KEEPS),
        ((0.05, 0.01, 0.09), 0.05, GateState.UNDECIDED),
        ((-0.05, -0.09, -0.01), 0, GateState.KEEPS),
    ],
)
def test_a_difference_is_decided_by_what_may_be_lost(difference, tolerance, verdict):
    paired = PairedMetric("recall", None, None, Interval(*difference), 0.5)

    assert check_difference(paired, "other.csv", tolerance, 100).verdict is verdict


def gate_of(*verdicts):
    limits = {GateState.KEEPS: 0.6, GateState.UNDECIDED: 0.75, GateState.BREAKS: 0.95}
    interval = Interval(0.8, 0.7, 0.9)
    checks = [check_metric("precision", limits[each], interval, 100) for each in verdicts]
    return Gate("by <this>", 100, tuple(checks))


@pytest.mark.parametrize(
    ("verdicts", "result"),
    [
        ([GateState.KEEPS, GateState.KEEPS], GateState.KEEPS),
        ([GateState.KEEPS, GateState.UNDECIDED], GateState.UNDECIDED),
        ([GateState.UNDECIDED, GateState.BREAKS], GateState.BREAKS),
    ],
)
def test_all_must_be_kept_and_one_broken_is_enough(verdicts, result):
    gate = gate_of(*verdicts)

    assert gate.verdict is result
    assert gate.line.startswith(f"{result.upper()}: precision ")


def test_the_xml_has_a_test_for_each_requirement_with_what_is_wrong():
    [suite] = Xml.fromstring(gate_of(*GateState).junit())  # noqa: S314  it is our own

    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
    }
    tags = [[part.tag for part in case] for case in suite]
    assert tags == [["system-out"], ["skipped", "system-out"], ["failure", "system-out"]]
    assert "by <this>" in str(suite[0][0].text)


@pytest.mark.parametrize("limit", [0.5, 0.53, 0.6])
def test_so_many_more_labels_drawn_alike_do_decide_and_much_fewer_do_not(limit):
    one = (43, 7, 11, 489)

    def recall(times):
        frame = cells(*(round(count * times) for count in one))
        row = monitor.evaluate(frame, predicted="predicted", sizes=SIZES).estimate("recall")
        return Interval(row["point"], row["low"], row["high"])

    labeled = sum(one)
    more = more_labels(recall(1), limit, labeled)

    assert more is not None
    enough, few = ((labeled + share * more) / labeled for share in (1.4, 0.6))
    assert check_metric("recall", limit, recall(enough), labeled).verdict is not GateState.UNDECIDED
    assert check_metric("recall", limit, recall(few), labeled).verdict is GateState.UNDECIDED


def test_no_number_of_labels_decides_about_the_estimate_itself():
    assert more_labels(Interval(0.8, 0.7, 0.9), 0.8, 100) is None
    assert more_labels(Interval(0.8, 0.7, 0.9), 0.801, 100) is not None
    assert more_labels(Interval(0.8, 0.7, 0.9), 0.80001, 100) is None
