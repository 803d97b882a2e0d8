r"""Evidence of a round whose labels came in waves, where later sizes follow earlier answers.

One e-value from the summed counts would be wrong: its mean holds for sizes that do not depend on
the round's own answers, and with two waves they do (enumerated: 1.14 at a limit). The product over
waves is right. With :math:`F_1` what wave 1 found, :math:`n_2` and the guess of wave 2 are known
given :math:`F_1`, and the labels of wave 2 are new draws at the same rates, so that

.. math:: E[e_1 e_2] = E\big[e_1\,E[e_2 \mid F_1]\big] \le E[e_1] \le 1

for all rates that keep the limit, by the bound of ``e_detector`` once given :math:`F_1` and once
without. It holds for any rule for the sizes of wave 2.

That is about the classifier's *rates*, behind the window's items. About the window's own metric it
says less: given wave 1 the items left are those that it did not take, and where these kept the
limit with room to spare the rest may miss it, though the window does not. The mean is then over 1
by a part that vanishes with the share of the items that is labeled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.detection.alternatives import ERRORS, guess
from monitor.stats.detection.e_detector import log_e_factor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from monitor.stats.core.counts import Counts
    from monitor.stats.detection.half_space import Limit


def log_e_of_waves(
    limit: Limit,
    waves: Sequence[Counts],
    earlier: Sequence[Counts] = (),
    reference: Counts | None = None,
    first_guess: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    r"""Log e of each alternative over the waves of one round.

    Every wave is guessed from the earlier rounds and the waves before it, as if each were a round.
    So the second wave of a first round already gathers evidence, by the rates of the first one.

    Parameters
    ----------
    limit
        The limit watched.
    waves
        Of each wave its own labels and answers, and the sizes of the whole window.
    earlier, reference
        What was known before the round, as for ``alternatives.guess``.
    first_guess
        The guess where those give none, such as that of four counts.

    Returns
    -------
    log e of shape ``(alternatives,)``; 0.0 where uninformative.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> from monitor.stats.detection.half_space import Limit
    >>> one = Counts.of_matrix(tp=40, fp=10, fn=0, tn=0, flagged_size=160, passed_size=4840)
    >>> two = Counts.of_matrix(tp=30, fp=20, fn=0, tn=0, flagged_size=160, passed_size=4840)
    >>> limit = Limit("precision", 0.8, "at_least")
    >>> print(log_e_of_waves(limit, [one]), log_e_of_waves(limit, [one, two]).round(2))
    [0. 0. 0.] [2.21 3.71 5.14]
    """
    found = np.zeros(len(ERRORS))
    for i, wave in enumerate(waves):
        rates = guess([*earlier, *waves[:i]], reference)
        found = found + log_e_factor(limit, wave, first_guess if rates is None else rates)
    return found
