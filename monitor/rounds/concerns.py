"""Concerns: what about a round needs a look, though the round goes on.

What a broken classifier can cause is told and never stops a draw, a label or an alert: that is the
moment which a monitor is for. While a concern about the newest round stands, its monitor is not ok.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.alerting import AlertState
from monitor.domain.model import EffectKind
from monitor.rounds.report import attention_report
from monitor.rounds.tell import MLFLOW, notify
from monitor.rounds.wording import attention_notice
from monitor.storage import (
    alert_store,
    attention_store,
    concern_store,
    effect_store,
    frame_store,
    round_store,
)
from monitor.storage.schema import store_id

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from monitor.storage.round_store import Round

INVERTED = "inverted"


def note(connection: Connection, found: Round, kind: str, sentence: str, now: datetime) -> bool:
    """Note a concern about a claimed round and tell the log, the hooks and MLflow of it, once.

    Parameters
    ----------
    kind
        What it is about; a round has at most one concern of a kind.
    sentence
        Without its end, such as ``nothing is flagged``.

    Returns
    -------
    bool
        False if there was one of this kind.
    """
    if not concern_store.add_concern(connection, found.id, kind, sentence, now):
        return False
    stored = round_store.read_round(connection, found.id)  # as it stands in this transaction
    store = store_id(connection)
    notice = attention_notice(stored, store_id=store, kind=kind, sentence=sentence, at=now)
    notify(connection, stored, notice, now)
    _tag_model(connection, stored, store, sentence, now)
    return True


def inverted_text(where: str, point: float, low: float, high: float) -> str:
    """Say that higher scores mean positives less often."""
    return (
        f"by the {where}, positives have lower scores than negatives: the area under the ROC curve "
        f"is {point:.2f} [{low:.2f}, {high:.2f}], where chance gives 0.5; does the score mean the "
        "other class?"
    )


def _tag_model(
    connection: Connection, found: Round, store: str, sentence: str, now: datetime
) -> None:
    """Let the model's page not say ok; one with an open alert stays under alert."""
    firing = alert_store.find_alerts(connection, monitor=found.monitor, state=AlertState.FIRING)
    is_newest = attention_store.newest_drawn(connection, found.monitor_id, now) == found.id
    if found.settings.model is None or firing or not is_newest:
        return
    issues = frame_store.read_issues(connection, found.id)
    report = attention_report(found, store_id=store, reason=sentence, issues=issues)
    effect_store.add_effect(
        connection,
        key=f"{report.round_key}/v{report.version}/attention/{EffectKind.MODEL_TAGS}",
        monitor_id=found.monitor_id,
        round_id=found.id,
        kind=EffectKind.MODEL_TAGS,
        sink=MLFLOW,
        payload=report.model_dump(mode="json"),
        now=now,
    )
