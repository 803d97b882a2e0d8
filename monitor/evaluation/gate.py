"""A gate: whether labels show that a classifier keeps limits, or is no worse than another one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

from monitor.presentation.numbers import difference_text, interval_text
from monitor.presentation.reasons import undefined_reason
from monitor.stats.core.counts import Interval

if TYPE_CHECKING:
    from monitor.stats.estimation.paired import PairedMetric

_MOST_LABELS = 10_000_000  # Beyond, the estimate is as good as the limit


class GateState(StrEnum):
    """What the labels show: the whole interval keeps the limit, breaks it, or neither."""

    KEEPS = "kept"
    UNDECIDED = "undecided"
    BREAKS = "broken"


EXIT_CODES: Mapping[GateState, int] = {
    GateState.KEEPS: 0,
    GateState.BREAKS: 3,
    GateState.UNDECIDED: 4,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """One requirement and what the labels show of it.

    ``interval`` is None if the metric is not estimable, with the ``reason``. ``more_labels`` would
    decide an undecided one if the point stays; None where no number would, or fewer exist.
    ``limit`` is None for labels that may be swapped or drawn otherwise.
    """

    title: str
    text: str
    verdict: GateState
    limit: float | None
    interval: Interval | None
    reason: str | None = None
    more_labels: int | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """All requirements on one set of labels, which ``subject`` describes."""

    subject: str
    labeled: int
    checks: tuple[GateCheck, ...]

    @property
    def verdict(self) -> GateState:
        """Broken if one requirement is, kept if all are."""
        verdicts = {check.verdict for check in self.checks}
        if GateState.BREAKS in verdicts:
            return GateState.BREAKS
        return GateState.UNDECIDED if GateState.UNDECIDED in verdicts else GateState.KEEPS

    @property
    def line(self) -> str:
        """The result in one line."""
        texts = "; ".join(check.text for check in self.checks)
        return f"{self.verdict.upper()}: {texts} (by {self.subject})"

    def to_dict(self) -> dict[str, Any]:
        """Return all values."""
        return {"verdict": self.verdict, "exit_code": EXIT_CODES[self.verdict], **asdict(self)}

    def junit(self) -> bytes:
        """Return a test suite in JUnit's XML; an undecided requirement is a skipped test."""
        count = {each: sum(c.verdict is each for c in self.checks) for each in GateState}
        attributes = {
            "name": "pr-monitor gate",
            "tests": f"{len(self.checks)}",
            "failures": f"{count[GateState.BREAKS]}",
            "skipped": f"{count[GateState.UNDECIDED]}",
            "errors": "0",
        }
        suites = Xml.Element("testsuites")
        suite = Xml.SubElement(suites, "testsuite", attributes)
        for check in self.checks:
            case = Xml.SubElement(suite, "testcase", classname="pr-monitor", name=check.title)
            tag = {GateState.BREAKS: "failure", GateState.UNDECIDED: "skipped"}.get(check.verdict)
            if tag is not None:
                Xml.SubElement(case, tag, message=check.text)
            Xml.SubElement(case, "system-out").text = f"{check.text}\nby {self.subject}"
        return bytes(Xml.tostring(suites, encoding="utf-8", xml_declaration=True))


def doubtful_labels(warning: str) -> GateCheck:
    """Leave a gate undecided whose labels may be swapped, or drawn otherwise."""
    return GateCheck(
        title="labels", text=warning, verdict=GateState.UNDECIDED, limit=None, interval=None
    )


def check_metric(
    metric: str,
    limit: float,
    interval: Interval | None,
    labeled: int,
    reason: str | None = None,
    *,
    unlabeled: int | None = None,
) -> GateCheck:
    """Decide whether a metric is at least a limit.

    ``unlabeled`` counts the population's other items, if that is known. If even their labels would
    not decide, the text says so.

    Examples
    --------
    >>> check_metric("recall", 0.5, Interval(0.555, 0.459, 0.656), 2000).text
    'recall may be over or under 0.5: 0.555 [0.459, 0.656], about 4,094 more labels would decide'
    """
    texts = {
        GateState.KEEPS: f"{metric} is at least {limit:g}",
        GateState.BREAKS: f"{metric} is under {limit:g}",
        GateState.UNDECIDED: f"{metric} may be over or under {limit:g}",
    }
    title = f"{metric} at least {limit:g}"
    check = _checked(title, texts, interval_text, limit, interval, labeled, reason)
    if unlabeled is None or check.more_labels is None or check.more_labels <= unlabeled:
        return check
    text = f"{check.text}, but only {unlabeled:,} items have none: this population cannot decide"
    return replace(check, text=text, more_labels=None)


def check_difference(paired: PairedMetric, other: str, tolerance: float, labeled: int) -> GateCheck:
    """Decide whether a metric is at most ``tolerance`` worse than with another classifier."""
    by = f" by more than {100 * tolerance:g} points" if tolerance else ""
    texts = {
        GateState.KEEPS: f"{paired.metric} is not worse than with {other}{by}",
        GateState.BREAKS: f"{paired.metric} is worse than with {other}{by}",
        GateState.UNDECIDED: f"{paired.metric} may be worse than with {other}{by}",
    }
    difference, reason = paired.difference, None
    if difference is not None:  # ours minus the other
        point, low, high = difference.point, difference.low, difference.high
        difference = Interval(0 - point, 0 - high, 0 - low)
    elif paired.reason is not None:
        reason = undefined_reason(paired.reason)
    title = texts[GateState.KEEPS]
    return _checked(title, texts, difference_text, -tolerance, difference, labeled, reason)


def _checked(
    title: str,
    texts: Mapping[GateState, str],
    written: Callable[[Interval], str],
    limit: float,
    interval: Interval | None,
    labeled: int,
    reason: str | None,
) -> GateCheck:
    if interval is None:
        text = f"{texts[GateState.UNDECIDED]}: not estimable, {reason}"
        return GateCheck(
            title=title,
            text=text,
            verdict=GateState.UNDECIDED,
            limit=limit,
            interval=None,
            reason=reason,
        )
    verdict, more = _verdict(interval, limit), None
    text = f"{texts[verdict]}: {written(interval)}"
    if verdict is GateState.UNDECIDED:
        more = more_labels(interval, limit, labeled)
        text += (
            ", the estimate is too close to it for any number of labels"
            if more is None
            else f", about {more:,} more labels would decide"
        )
    return GateCheck(
        title=title, text=text, verdict=verdict, limit=limit, interval=interval, more_labels=more
    )


def _verdict(interval: Interval, limit: float) -> GateState:
    if interval.low >= limit:
        return GateState.KEEPS
    return GateState.BREAKS if interval.high < limit else GateState.UNDECIDED


def more_labels(interval: Interval, limit: float, labeled: int) -> int | None:
    r"""Return how many more labels, drawn alike, part the interval from the limit.

    .. math:: n \Big(\Big(\frac{w}{|m - l|}\Big)^2 - 1\Big)

    with point m, limit l and the half-width w on the side of the limit, which shrinks with the
    square root of the labels. None beyond ten million.

    Examples
    --------
    >>> more_labels(Interval(0.80, 0.70, 0.90), 0.75, 100)
    300
    """
    point = interval.point
    half = point - interval.low if point >= limit else interval.high - point
    distance = abs(point - limit)
    if distance * math.sqrt(_MOST_LABELS) <= half * math.sqrt(labeled):
        return None
    return math.ceil(round(labeled * ((half / distance) ** 2 - 1), 6))
