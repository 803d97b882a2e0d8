"""All errors that a user may see, as one tree.

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
    │   │   └── SnapshotMissing        the snapshot that a round was counted in has expired
    │   ├── LabelsUnavailable
    │   └── DeliveryFailed             MLflow or a hook did not take an effect
    │       └── DeliveryBroke          a fault of this program ended the delivery
    ├── RoundMoved           exit 75   another worker was faster
    └── StoppedByBug         exit 1    a bug of this program stopped a step

A message states what was requested, what was found and where, and what to do next.
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
    """Return the most severe exit code; problems to fix rank above temporary ones.

    >>> gravest([75, 65, 0]), gravest([78, 65]), gravest([])
    (65, 78, 0)
    """
    return max(codes, key=_BY_GRAVITY.index, default=0)


def gravest_of(errors: Iterable[MonitorError]) -> MonitorError | None:
    """Return the first error with the most severe exit code; None if there are no errors."""
    return max(errors, key=lambda error: _BY_GRAVITY.index(error.exit_code), default=None)


class MonitorError(Exception):
    """Base class of all errors that a user may see."""

    exit_code: ClassVar[int] = 1


class ConfigRefused(MonitorError):
    """The config asks for something impossible or not allowed."""

    exit_code = EXIT_CONFIG


class SchemaMismatch(ConfigRefused):
    """The database has a schema older or newer than this program's."""


class SchemaNewer(SchemaMismatch):
    """A newer program upgraded the database: only that one may work on it."""


class InputRefused(MonitorError):
    """Data from a person or a pipeline cannot be used.

    ``is_public``: the message quotes no content of rows, so it may be sent to hooks and MLflow.
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
    """A snapshot of the predictions that was read before no longer exists."""


class LabelsUnavailable(TryLater):
    """The place where people label cannot be reached now."""


class DeliveryFailed(TryLater):
    """MLflow or a hook did not accept an effect; the effect stays in the store and is retried.

    ``sink_down``: the sink will fail for its other effects too. ``lasting``: retries fail until
    somebody fixes something. ``retry_after``: the pause that the sink requested.
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
        """Whether the failure may concern this effect only, so that the next one may succeed."""
        return not self.sink_down and not self.lasting


class DeliveryBroke(DeliveryFailed):
    """A bug of this program ended the delivery of one effect; a retry rarely helps."""

    def __init__(self, message: str) -> None:
        super().__init__(message, lasting=True)

    @property
    def concerns_one(self) -> bool:
        """Always True: the bug may depend on the content of this effect."""
        return True


class RoundMoved(TryLater):
    """Another worker moved the round first; it has done, or is doing, this step."""


class StoppedByBug(MonitorError):
    """A bug of this program stopped a step; the step is retried, since the cause may pass."""

    @classmethod
    def of(cls, error: BaseException) -> StoppedByBug:
        """Wrap an exception: the message quotes it on one line, and it becomes the cause."""
        what = masked(" ".join(f"{type(error).__name__}: {error}".split()))
        bug = cls(f"stopped by a bug in this program: {what}; the log has the traceback")
        bug.__cause__ = error
        return bug


class MoveNotAllowed(AssertionError):
    """A step requested a move that the state machine does not allow: a bug, not bad input."""


class SettingRefused(ValueError):
    """A setting cannot be used; its text is, for example, ``listen: there is no port 0``.

    setting: Path of the setting, relative to the checked section: ``listen``, ``sample.bands``.
    why: What is wrong and what to do, without the setting's name.
    """

    def __init__(self, *, setting: str, why: str) -> None:
        super().__init__(f"{setting}: {why}")
        self.setting = setting
        self.why = why
