"""What somebody may do on the pages; light, since the command line reads it for its help."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a user is here for."""

    LABELER = "labeler"  # Answers tasks, and sees the labeling page only
    VIEWER = "viewer"  # Sees how the monitors fare, and labels nothing
    ADMIN = "admin"  # Does both, and sees how others label

    @property
    def labels(self) -> bool:
        """Whether the labeling page is for this role."""
        return self is not Role.VIEWER

    @property
    def views(self) -> bool:
        """Whether the status pages are for this role."""
        return self is not Role.LABELER
