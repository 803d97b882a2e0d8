"""Everything a user can cause, as one tree of named errors.

::

    MonitorError
    ├── ConfigRefused        exit 78   fix the config, the schema or a permission
    │   └── SchemaMismatch             the database is older or newer than this program
    │       └── SchemaNewer            a newer program upgraded it
    ├── InputRefused         exit 65   predictions, labels or arguments that cannot be used
    │   ├── SourceRefused
    │   └── LabelsRefused
    ├── TryLater             exit 75   something outside is down; running again is safe
    │   ├── StoreUnavailable
    │   ├── SourceUnavailable
    │   │   └── SnapshotMissing        what a round was counted in is kept no longer
    │   ├── LabelsUnavailable
    │   └── DeliveryFailed             MLflow or a hook did not take an effect
    │       └── DeliveryBroke          a fault of this program ended the delivery
    ├── RoundMoved           exit 75   another worker was faster
    └── StoppedByBug         exit 1    a step met a fault of this program

A message says what was asked, what was found, where, and what to do next.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import ClassVar

from monitor.domain.masking import masked

EXIT_USAGE = 2
EXIT_INPUT = 65
EXIT_TRY_LATER = 75
EXIT_CONFIG = 78
_BY_GRAVITY = (0, EXIT_TRY_LATER, EXIT_INPUT, EXIT_CONFIG, 1)


def gravest(codes: Iterable[int]) -> int:
    """Choose the exit code of several problems: what somebody must fix before what passes.

    >>> gravest([75, 65, 0]), gravest([78, 65]), gravest([])
    (65, 78, 0)
    """
    return max(codes, key=_BY_GRAVITY.index, default=0)


def gravest_of(errors: Iterable[MonitorError]) -> MonitorError | None:
    """Choose the error with the gravest exit code, the first of several; None without errors."""
    return max(errors, key=lambda error: _BY_GRAVITY.index(error.exit_code), default=None)


class MonitorError(Exception):
    """Base of all errors this package raises for a reason outside of it."""

    exit_code: ClassVar[int] = 1


class ConfigRefused(MonitorError):
    """The config asks for something impossible or not allowed."""

    exit_code = EXIT_CONFIG


class SchemaMismatch(ConfigRefused):
    """The database holds a schema older or newer than this program's."""


class SchemaNewer(SchemaMismatch):
    """A newer program upgraded the database: only that one may work on it."""


class InputRefused(MonitorError):
    """Data given by a person or a pipeline cannot be used as it is.

    ``is_public``: the message repeats nothing that may be in a row, so hooks and MLflow may have
    it.
    """

    exit_code = EXIT_INPUT

    def __init__(self, message: str, *, is_public: bool = False) -> None:
        super().__init__(message)
        self.is_public = is_public


class SourceRefused(InputRefused):
    """The predictions are missing or malformed."""


class LabelsRefused(InputRefused):
    """A label file is missing or malformed as a whole."""


class TryLater(MonitorError):
    """Something outside is down; nothing was lost and running again is safe."""

    exit_code = EXIT_TRY_LATER


class StoreUnavailable(TryLater):
    """The database did not answer."""


class SourceUnavailable(TryLater):
    """The predictions cannot be reached now."""


class SnapshotMissing(SourceUnavailable):
    """A state of the predictions that was read before is kept no longer."""


class LabelsUnavailable(TryLater):
    """Where people label cannot be reached now."""


class DeliveryFailed(TryLater):
    """MLflow or a hook did not take an effect; it stays in the store and is tried again.

    ``sink_down``: other effects waiting for it need not find out one by one. ``lasting``: trying
    again will not help until somebody fixes something. ``retry_after``: for how long the sink asked
    to be left alone.
    """

    def __init__(
        self,
        message: str,
        *,
        sink_down: bool = True,
        lasting: bool = False,
        retry_after: timedelta | None = None,
    ) -> None:
        super().__init__(message)
        self.sink_down = sink_down and not lasting
        self.lasting = lasting
        self.retry_after = retry_after

    @property
    def concerns_one(self) -> bool:
        """Whether the sink may well take the next effect: nothing says that it refuses all."""
        return not self.sink_down and not self.lasting


class DeliveryBroke(DeliveryFailed):
    """A fault of this program ended the delivery of one effect; trying again rarely helps."""

    def __init__(self, message: str) -> None:
        super().__init__(message, lasting=True)

    @property
    def concerns_one(self) -> bool:
        """Always: the fault may be in what this effect holds."""
        return True


class RoundMoved(TryLater):
    """Another worker moved the round first; it has done, or is doing, this step."""


class StoppedByBug(MonitorError):
    """A step met a fault of this program; it is tried again, since what caused it may pass."""

    @classmethod
    def of(cls, error: BaseException) -> StoppedByBug:
        """Return which exception it was, on one line; it becomes the cause."""
        what = masked(" ".join(f"{type(error).__name__}: {error}".split()))
        bug = cls(f"stopped by a bug in this program: {what}; the log has the traceback")
        bug.__cause__ = error
        return bug


class MoveNotAllowed(AssertionError):
    """A step asked for a move that the state machine does not have: a bug, not an input."""


class SettingRefused(ValueError):
    """A setting cannot be used; as text ``listen: there is no port 0``.

    setting: Its name, below what is checked: ``listen`` or ``sample.bands``.
    why: What is wrong with it and what to do, without its name.
    """

    def __init__(self, *, setting: str, why: str) -> None:
        super().__init__(f"{setting}: {why}")
        self.setting = setting
        self.why = why
