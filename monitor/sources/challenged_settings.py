"""Settings of rows in which another classifier's decisions may stand beside the monitored one's."""

from __future__ import annotations

from pydantic import model_validator

from monitor.domain.challenger import Challenger  # noqa: TC001  pydantic reads it
from monitor.domain.refused_setting import SettingRefused
from monitor.sources.challenger_columns import why_no_challenger
from monitor.sources.shown_columns import listed
from monitor.sources.table_settings import TableSettings


class ChallengedSettings(TableSettings):
    """Columns and what their values mean, a challenger's among them."""

    challenger: Challenger | None = None

    @model_validator(mode="after")
    def _challenger_is_another(self) -> ChallengedSettings:
        if self.challenger is not None:
            columns = self.columns
            shown = {column for one in listed(columns.show) for column in one.columns}
            own = (columns.predicted or columns.score, self.threshold)
            if (why := why_no_challenger(self.challenger, shown, own)) is not None:
                raise SettingRefused(setting="challenger", why=why)
        return self

    @property
    def reads_classes(self) -> bool:
        """Whether any classifier's predicted class stands in a column."""
        by_challenger = self.challenger is not None and self.challenger.predicted is not None
        return super().reads_classes or by_challenger

    @property
    def challenged_by(self) -> Challenger | None:
        """Another classifier whose decisions stand in the same rows."""
        return self.challenger
