r"""Evidence of a round whose labels came in waves, where later sizes follow earlier answers.

One e-value from the summed counts would be wrong: its mean holds for sizes that do not depend on
the round's own answers, and with two waves they do (enumerated: 1.14 at a limit). The product over
waves is right. With :math:`F_1` what wave 1 found, :math:`n_2` and the guess of wave 2 are known
given :math:`F_1`, and the labels of wave 2 are new draws at the same rates, so that

.. math:: E[e_1 e_2] = E\big[e_1\,E[e_2 \mid F_1]\big] \le E[e_1] \le 1

for all rates that keep the limit, by the bound of ``random_shares`` once given :math:`F_1` and once
without. It holds for any rule by which a fixed total of labels is spread in wave 2, and in the same
way for evidence of recovery, which is the detector's turned round.

Missing answers of a wave count in favor of the limit, so that each factor is at most the factor of
the full wave. The guess for wave 2 rests on the answers to wave 1 that there are: the promise holds
unless whether those came depends on what the items of wave 2 are.

That is about the classifier's *rates*, behind the window's items. About the window's own metric it
says less: given wave 1 the items left are those that it did not take, and where these kept the
limit with room to spare the rest may miss it, though the window does not. The mean is then over 1
by a part that vanishes with the share of the items that is labeled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from monitor.stats.core.counts import Counts
from monitor.stats.detection.alternatives import ERRORS
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.random_shares import log_e_path_of_shares
from monitor.stats.detection.recovery import ERRORS as WITHIN
from monitor.stats.detection.recovery import opposite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Floats, Ints

_T = TypeVar("_T")


def log_e_path_of_waves(
    limit: Limit,
    waves: Sequence[Sequence[Counts]],
    rates: Sequence[Floats | None],
    missing: Sequence[Sequence[Ints]] | None = None,
    earlier: Sequence[Counts] = (),
) -> Floats:
    """Log e after each block of each wave of one round, ``(blocks, alternatives)``.

    0.0 says nothing. Where sizes are estimated there is one row, of the round's end.

    Parameters
    ----------
    waves
        Of each wave its own labels and answers up to each of its blocks, and the sizes of the whole
        window.
    rates
        The guess for each wave, as if it were a round: by the rounds and the waves before it only.
        So the second wave of a first round already gathers evidence, by the rates of the first.
    missing
        Of each wave and block the items without an answer, by stratum; none if not given.
    earlier
        Rounds of the same strata before this one, in slot order; what ``random_shares`` chooses
        its bets by.
    """
    path = log_e_path_of_shares(limit, waves, rates, _each(missing, waves), earlier, ERRORS)
    return path if waves[0][-1].first_phase is None else path[-1:]


def log_recovery_of_waves(
    limit: Limit,
    waves: Sequence[Counts],
    rates: Sequence[Floats | None],
    missing: Sequence[Ints] | None = None,
    earlier: Sequence[Counts] = (),
) -> float:
    """Log e of a round in waves that the metric of an alert keeps its limit again; as above."""
    lost = [None if each is None else [each] for each in _each(missing, waves)]
    blocks = [[wave] for wave in waves]
    path = log_e_path_of_shares(opposite(limit), blocks, rates, lost, earlier, (WITHIN,))
    return float(path[-1, 0])


def _each(missing: Sequence[_T] | None, waves: Sequence[object]) -> Sequence[_T | None]:
    return [None] * len(waves) if missing is None else missing
