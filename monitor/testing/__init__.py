"""Stand-ins for sources and labelers, and the contracts that they and every adapter keep.

Shipped, so that an adapter written elsewhere can be tested the same way. The stand-ins do in
plain Python what the adapters do in their products' words; because both pass the same contract,
a test of the rounds that uses a stand-in can be believed.

A contract is a class of test methods with plain assertions. Derive from it, define how to make the
adapter, and let pytest collect it::

    class TestMySource(SourceContract):
        def source(self, rows):
            return MySource(write_somewhere(rows))
"""

from monitor.testing.labeler_contract import LabelerContract
from monitor.testing.memory import MemoryLabeler, MemorySource, draw_order
from monitor.testing.source_contract import (
    ChallengerContract,
    JudgeContract,
    SourceContract,
    example_rows,
)

__all__ = [
    "ChallengerContract",
    "JudgeContract",
    "LabelerContract",
    "MemoryLabeler",
    "MemorySource",
    "SourceContract",
    "draw_order",
    "example_rows",
]
