"""When answers came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from monitor.domain.model import LabelKind
from monitor.storage.tables import label_events

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


def first_answers(connection: Connection, round_id: int) -> list[datetime]:
    """Time of the first answer to each answered item of a round, ascending."""
    query = (
        select(func.min(label_events.c.at).label("first"))
        .where(label_events.c.round_id == round_id, label_events.c.kind == LabelKind.GIVEN)
        .group_by(label_events.c.item_id)
    )
    return sorted(row.first for row in connection.execute(query))
