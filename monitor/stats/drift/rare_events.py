r"""Whether two counts of rare events have the same rate, beyond chance."""

from __future__ import annotations

from scipy import special


def rates_differ(
    events: float, size: int, events_before: float, size_before: int, *, level: float = 0.999
) -> bool:
    r"""Whether the rate of events is another one than before, given Poisson counts.

    Given their sum, one of two Poisson counts of equal rates is binomial (Przyborowski and
    Wilenski, Biometrika 31, 1940):

    .. math:: X \mid X + Y = s \sim \mathrm{Bin}\big(s, \tfrac{n}{n + m}\big)

    with sizes :math:`n` now and :math:`m` before. The rates differ if the count lies outside of
    the central ``level`` of it: equal rates are called equal with this probability or more, and a
    few events before make a wide bound.

    Examples
    --------
    >>> rates_differ(0, 1000, 60, 1000), rates_differ(50, 1000, 60, 1000)
    (True, False)
    """
    if min(size, size_before) <= 0 or min(events, events_before) < 0 or not 0 < level < 1:
        message = (
            f"expected positive sizes, counts of 0 or more and a level in (0, 1), got {events} of "
            f"{size}, {events_before} of {size_before} and {level}"
        )
        raise ValueError(message)
    total = events + events_before
    share = size / (size + size_before)
    tail = (1 - level) / 2
    at_most = special.betainc(events_before, events + 1, 1 - share) if events_before else 1.0
    at_least = special.betainc(events, events_before + 1, share) if events else 1.0
    return total > 0 and bool(min(at_most, at_least) < tail)
