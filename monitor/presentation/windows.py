"""Sentences about a window before it is labeled, without full stops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from monitor.domain.model import Frame, UsualRate, Window
from monitor.domain.registered import NamedVersion
from monitor.fixed_text import significant_text
from monitor.presentation.numbers import minute_text, percent_text, plural, span_text
from monitor.presentation.rounds import run_command, show_command

_MOST_LOST = 3  # counts that one sentence names


def no_rows_sentence(window: Window) -> str:
    """Return the sentence that a window holds nothing."""
    return f"no predictions from {window} (is the source up to date?)"


def bad_rows_sentence(frame: Frame, allowed: float) -> str:
    """Return the sentence that too many rows of a window are bad, and why they are."""
    bad = sum(frame.bad_rows.values())
    reasons = ", ".join(f"{count} {reason}" for reason, count in frame.bad_rows.items())
    return (
        f"{bad} of {frame.checked_rows} rows cannot be used ({reasons}), more than "
        f"bad_rows_max = {allowed:g} allows"
    )


def no_items_sentence(frame: Frame) -> str:
    """Return the sentence that a window holds rows, but no row belongs to a stratum."""
    reasons = ", ".join(f"{count} {note}" for note, count in frame.notes.items() if count)
    why = f" ({reasons})" if reasons else ""
    return f"none of the {frame.rows} rows from {frame.window} can be sampled{why}"


def changed_sentence(removed: int, drawn: int) -> str:
    """Return the sentence that predictions were replaced while a round was drawn from them."""
    return (
        f"{removed} of {drawn} items left the predictions while the round was drawn, so their "
        "files changed; it is drawn again in the next pass"
    )


def majority_flagged_sentence(flagged: int, size: int, *, has_threshold: bool) -> str:
    """Report that most items of a window are flagged, and nothing says that this is usual."""
    hint = (
        "is source.threshold right, and does a high score mean the positive class?"
        if has_threshold
        else "are source.positive and source.negative the right way round?"
    )
    return (
        f"{flagged:,} of {size:,} predictions are flagged ({percent_text(flagged / size)}): {hint}"
    )


_LOG_SAMPLING = (
    "if the log keeps only a sample of them, give source.kept_with, such as {flagged: 1, passed: "
    "0.1}, otherwise recall is far off; if it keeps all, set source.kept_with: 1"
)


def many_flagged_sentence(flagged: int, size: int) -> str:
    """Ask whether the log has all predictions, where it has rather many flagged ones."""
    share = percent_text(flagged / size)
    return f"{flagged:,} of {size:,} predictions are flagged ({share}): {_LOG_SAMPLING}"


def round_share_sentence(flagged: int, passed: int) -> str:
    """Ask whether the log has all predictions, where it has a round number for a flagged one."""
    return (
        f"there are {passed:,} passed predictions, exactly {passed // flagged} for each of "
        f"{flagged:,} flagged ones: {_LOG_SAMPLING}"
    )


def library_sampling_sentence(variable: str, ratio: float) -> str:
    """Ask whether the predictions come through a library that keeps a sample of them."""
    return (
        f"{variable} is {ratio:g}, so a tracing library here keeps a sample of the traces: if the "
        f"predictions come from them, give source.kept_with: {ratio:g}; else source.kept_with: 1"
    )


def missing_groups_sentence(column: str, missing: int, drawn: int) -> str:
    """Report that the column of groups has no value in many items, as in older files."""
    how_many = "any" if missing == drawn else f"{missing:,}"
    return (
        f"column {column!r} (source.columns.group) has no value in {how_many} of "
        f"{plural(drawn, 'prediction')} that could be drawn: each of these is a group by itself, "
        "so intervals of the rate and alarms take them as independent"
    )


def large_items_sentence(share: float, labels: int, stratum: str) -> str:
    """Report that the amount of a single item limits the labels of a stratum."""
    return (
        f"one item holds {percent_text(share)} of the amount of {stratum}, so only "
        f"{labels} of its items can be labeled in proportion to amounts; the largest items, in a "
        "monitor of their own by source.where, would leave room for more"
    )


def large_row_sentence(share: float, name: str) -> str:
    """Report that a single row of a log that keeps a sample stands for much of a class."""
    return (
        f"one row stands for {percent_text(share)} of the {name} predictions (source.kept_with), "
        "so few others can be labeled beside it and intervals are very wide; is its probability "
        "right?"
    )


def amount_sentence(amount: float, before: float, rounds: int) -> str:
    """Report amounts that are far larger or smaller than before, as in another unit."""
    return (
        f"the amount of a prediction (source.columns.weight) is {significant_text(amount)} on "
        f"average; in {_last_rounds(rounds)} it was {significant_text(before)}: are all amounts in "
        "one unit?"
    )


def held_back_sentence(monitor: str, number: int) -> str:
    """Describe where the fault of a window is shown, for those who may not see its rows."""
    return (
        "the predictions could not be used as they are; the reason is in "
        f"{show_command(monitor, number)}"
    )


def empty_sentence(
    window: Window, newest: datetime | None, rerun: tuple[str, datetime] | None = None
) -> str:
    """Return the sentence that a window is empty, and when the newest prediction is of.

    ``rerun`` is the slot of the newest window that has any.
    """
    if newest is None:
        return f"no predictions from {window}, and none at all yet (is the source up to date?)"
    ended = f"no predictions from {window}; the newest is of {minute_text(newest)} UTC"
    if newest >= window.end:
        return f"{ended}, after it (is something missing in the source?)"
    ended += " (is the source up to date?)"
    return ended if rerun is None else f"{ended}; {run_command(*rerun)} runs the window of that one"


def few_rows_sentence(frame: Frame, window: Window, usual: float) -> str:
    """Return the sentence that a window holds fewer rows than is usual."""
    return (
        f"{frame.rows} predictions from {window}, where {usual:.0f} are usual in similar "
        "windows (are predictions missing?)"
    )


def old_rows_sentence(window: Window, newest: datetime, gap: timedelta, longest: timedelta) -> str:
    """State that a window's newest row is older than is usual; ``longest`` is the most before."""
    before_end, most = span_text(gap), span_text(longest)
    return (
        f"the newest prediction of {window} is from {minute_text(newest)}, {before_end} before "
        f"the window ends, at most {most} in similar windows (are predictions missing?)"
    )


def lost_traffic_sentence(
    window: Window, lost: Sequence[tuple[str | None, int, float]], *, windows: int
) -> str:
    """Describe the counts of a window below expectation: segment, actual, expected."""
    counts = "; ".join(
        f"{count}{'' if name is None else f' with {name}'} (expected about {expected:.0f})"
        for name, count, expected in lost[:_MOST_LOST]
    )
    more = len(lost) - _MOST_LOST
    return (
        f"the window {window} holds fewer predictions than the {windows} similar ones before: "
        f"{counts}{f'; and {more} more segments' if more > 0 else ''} (is part of the traffic "
        "missing? metrics describe only what is there)"
    )


def flagged_sentence(flagged: int, size: int, usual: UsualRate) -> str:
    """Return how much is flagged, and how much was."""
    return f"{flagged} of {size} items are flagged, {percent_text(flagged / size)}{_before(usual)}"


def one_class_sentence(flagged: int, size: int, usual: UsualRate | None) -> str:
    """Return the sentence that nothing or everything is flagged."""
    which = f"all {size}" if flagged else f"none of the {size}"
    return f"{which} items are flagged{_before(usual)}"


def released_sentence(released: int, size: int, expected: float) -> str:
    """Write that another share of the flagged items was let through than was to be."""
    return (
        f"{percent_text(released / size)} of {size} flagged items were let through, where "
        f"source.released_with says {percent_text(expected / size)}: are the marks and the "
        "probabilities right, and was the release by chance alone?"
    )


def few_released_sentence(usable: int, released: int, size: int) -> str:
    """Write that too few flagged items have an outcome that the model did not prevent."""
    thinned = f" and {usable} of these are as likely as each other" if usable < released else ""
    return (
        f"of {size} flagged items {released} were let through{thinned}, so precision rests on few "
        "labels: let more through, or take a longer window"
    )


def threshold_sentence(
    flagged: int,
    size: int,
    usual: UsualRate | None,
    *,
    threshold: float,
    scores: tuple[float, float],
) -> str:
    """Describe the same where the threshold lies outside of the scores, from lowest to highest."""
    side = "at or under" if flagged else "over"
    return (
        f"{one_class_sentence(flagged, size, usual)}: source.threshold {threshold:g} lies "
        f"{side} all scores, which go from {' to '.join(map(significant_text, scores))}"
    )


def _before(usual: UsualRate | None) -> str:
    if usual is None:
        return ""
    where = _last_rounds(usual.rounds) if usual.rounds else "the reference"
    return f"; in {where} it was {percent_text(usual.rate)}"


def _last_rounds(rounds: int) -> str:
    return "the last round" if rounds == 1 else f"the last {rounds} rounds"


def broken_pictures_sentence(problems: Mapping[str, int], items: int) -> str:
    """Return how many items have a picture that cannot be shown, and why they have."""
    reasons = "; ".join(f"{count}: {why}" for why, count in problems.items())
    return (
        f"{sum(problems.values())} of {items} items have a picture that cannot be shown ({reasons})"
    )


def late_rows_sentence(number: int, late: int) -> str:
    """Return how many rows of a round's window came after its draw."""
    return f"{late} rows of the window of round {number} came after its draw"


def many_late_rows_sentence(number: int, rows: int, late: int) -> str:
    """Describe so where these are many, against the ``rows`` that were there."""
    return f"{late_rows_sentence(number, late)}, to {rows} that it saw (is schedule.lag too short?)"


def alias_moved_sentence(alias: str, before: NamedVersion, after: NamedVersion) -> str:
    """State that a window is of two versions of a model, and what would separate them."""
    return (
        f"the alias {alias} moved from version {before.version} to {after.version} between "
        f"{minute_text(before.read_at)} and {minute_text(after.read_at)} UTC, so the predictions "
        "may be of both versions; the round is estimated by itself and pooled with neither (a "
        "column for source.model_version would tell them apart)"
    )


def alias_unknown_sentence(alias: str, last: NamedVersion | None, problem: str | None) -> str:
    """State that the alias could not be read, and which version the round is taken to be of."""
    taken = (
        "so no version is known"
        if last is None
        else f"so the round is taken to be of version {last.version}, which it named "
        f"{minute_text(last.read_at)} UTC"
    )
    return f"the alias {alias} could not be read, {taken}{f': {problem}' if problem else ''}"


def alias_removed_sentence(alias: str, last: NamedVersion | None) -> str:
    """Return the sentence that the alias names no version any more."""
    counts = "" if last is None else f"; version {last.version} counts, which it named last"
    return f"the alias {alias} names no version{counts}: set it again, or name a version in `model`"
