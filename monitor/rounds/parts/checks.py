"""Labels of a column that people check; estimates are corrected by these counts."""

from __future__ import annotations

from typing import Any

from monitor.domain.report import NoticeRow
from monitor.presentation.parts.checks import CheckRow
from monitor.rounds.estimation.label_errors import CHECKS, stored_checks
from monitor.rounds.parts.part import LabeledRound, ReportedVersion, ReportPart


class ChecksPart(ReportPart):
    """How often labels of a column are wrong, in this round and in the last ones."""

    name = CHECKS

    def counts(self, counted: LabeledRound) -> Any:
        """Count checked items by predicted class; None if nobody checks."""
        return stored_checks(counted.labels.check_counts)

    def row(self, version: ReportedVersion) -> list[CheckRow]:
        """Report the error rates of each class that is checked."""
        return version.checked.rows() if version.checked else []

    def notices(self, version: ReportedVersion, row: list[CheckRow]) -> list[NoticeRow]:  # noqa: ARG002
        """Note that a column's errors differ from earlier rounds."""
        return version.checked.notices() if version.checked else []
