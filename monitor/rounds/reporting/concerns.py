"""Concerns: problems of a round that need attention but do not stop it.

A fault that a broken classifier can cause never stops a draw, a label or an alert.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from monitor.domain.alerting import AlertState
from monitor.domain.model import MLFLOW, EffectKind
from monitor.domain.report import ProvisionalRow
from monitor.domain.round import Round
from monitor.domain.state import RoundState
from monitor.presentation.estimates import too_few_text
from monitor.presentation.limit_comparisons import provisional_beyond, provisional_sentence
from monitor.presentation.rounds import corrected_sentence
from monitor.rounds.estimation.alerts import DISPUTED
from monitor.rounds.estimation.tally import Tally
from monitor.rounds.estimation.types import Member
from monitor.rounds.reporting.enqueue import attention_notice, names_of, notify
from monitor.rounds.reporting.report import bare_report
from monitor.storage.outbox import effect_store
from monitor.storage.outbox.effect_store import NewEffect
from monitor.storage.overview import attention_store
from monitor.storage.results import alert_store, concern_store
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from sqlalchemy import Connection


MISSING = "missing"
PROVISIONAL = "provisional"

SHARE_TURNED, LEAST_TURNED = 0.1, 5
"""Least share and number of a closed round's labels, or of its positive labels, that a noted
correction changes."""


def note(connection: Connection, round_: Round, kind: str, sentence: str, now: datetime) -> bool:
    """Note a concern about a claimed round and notify the log, the hooks and MLflow, once.

    Returns false if the round already has a concern of this kind.
    """
    if not concern_store.add_concern(connection, round_.id, kind, sentence, now):
        return False
    stored = round_store.read_round(connection, round_.id)  # with the changes of this transaction
    names = names_of(connection, stored)
    notice = attention_notice(stored, kind=kind, sentence=sentence, at=now, **names)
    notify(connection, stored, notice, now)
    _tag_model(connection, stored, names, sentence, now)
    return True


def note_disputes(
    connection: Connection, round_: Round, disputed: dict[str, str], now: datetime
) -> None:
    """Update the concerns about a round's disputed items; each is notified once."""
    noted = concern_store.read_concerns(connection, round_.id)
    for kind in noted:
        if kind.startswith(DISPUTED) and kind.removeprefix(DISPUTED) not in disputed:
            concern_store.drop_concern(connection, round_.id, kind)
    for metric, sentence in disputed.items():
        if not note(connection, round_, DISPUTED + metric, sentence, now):
            concern_store.reword_concern(connection, round_.id, DISPUTED + metric, sentence)


def note_missing(connection: Connection, round_: Round, tally: Tally, now: datetime) -> None:
    """Update the concerns about missing answers of a round."""
    answers, counts = tally.answers, tally.counts
    if counts.labeled[~counts.is_flagged].any():
        concern_store.drop_concern(connection, round_.id, concern_store.UNLABELED)
    if not answers.too_few:
        concern_store.drop_concern(connection, round_.id, MISSING)
    elif not note(connection, round_, MISSING, too_few_text(answers), now):
        concern_store.reword_concern(connection, round_.id, MISSING, too_few_text(answers))


def note_stale_count(connection: Connection, round_: Round, sentence: str, now: datetime) -> None:
    """Note that a round keeps its last count of labels; it is notified once."""
    if not note(connection, round_, concern_store.STALE_COUNT, sentence, now):
        concern_store.reword_concern(connection, round_.id, concern_store.STALE_COUNT, sentence)


def note_correction(
    connection: Connection, due: Member, stored: Tally | None, now: datetime
) -> None:
    """Note that many labels changed, with the newest closed round, which `status` shows."""
    if stored is None:
        return
    turned, lost = due.tally.turned_since(stored), due.tally.lost_since(stored)
    labels, positives = int(stored.counts.labeled.sum()), int(stored.counts.positive.sum())
    if not (is_much(turned, labels) or is_much(lost, positives)):
        return
    shown = round_store.newest_closed(connection, due.round.monitor, now) or due.round
    sentence = corrected_sentence(due.round.number, (turned, labels), (lost, positives))
    note(connection, shown, f"corrected {due.round.id}/v{due.version}", sentence, now)


def note_provisional(
    connection: Connection, round_: Round, row: ProvisionalRow | None, now: datetime
) -> None:
    """Update the concern that a round's provisional estimate is beyond a limit.

    Only the first of overlapping open rounds is notified. Limits with an open alert are ignored.
    """
    firing = alert_store.find_alerts(connection, monitor=round_.monitor, state=AlertState.FIRING)
    alerting = {(alert.metric, alert.side) for alert in firing}
    limits = round_.settings.limits
    sides = [side for side in limits.sides() if (side.metric, side.side) not in alerting]
    beyond = provisional_beyond(sides, row)
    if row is None or not beyond:
        concern_store.drop_concern(connection, round_.id, PROVISIONAL)
        return
    sentence = provisional_sentence(beyond, row)
    labeling = round_store.find_rounds(connection, round_.monitor, states=(RoundState.LABELING,))
    kinds = concern_store.read_kinds(connection, [each.id for each in labeling])
    if any(PROVISIONAL in of for of in kinds.values()) or not limits.notify_provisional:
        if not concern_store.add_concern(connection, round_.id, PROVISIONAL, sentence, now):
            concern_store.reword_concern(connection, round_.id, PROVISIONAL, sentence)
        return
    note(connection, round_, PROVISIONAL, sentence, now)


def is_much(turned: int, of_labels: int) -> bool:
    """Whether enough labels changed to notify people."""
    return turned >= max(LEAST_TURNED, SHARE_TURNED * of_labels)


def _tag_model(
    connection: Connection, round_: Round, names: dict[str, str], sentence: str, now: datetime
) -> None:
    """Tag the model's page with attention instead of ok, unless an alert is open."""
    firing = alert_store.find_alerts(connection, monitor=round_.monitor, state=AlertState.FIRING)
    is_newest = attention_store.newest_drawn(connection, round_.monitor_id, now) == round_.id
    if round_.settings.model is None or firing or not is_newest:
        return
    issues = frame_store.read_issues(connection, round_.id)
    report = bare_report(round_, issues, round_.state, sentence, ended=False, **names)
    tags = NewEffect(
        key=f"{report.round_key}/v{report.version}/attention/{EffectKind.MODEL_TAGS}",
        monitor_id=round_.monitor_id,
        round_id=round_.id,
        kind=EffectKind.MODEL_TAGS,
        sink=MLFLOW,
        payload=report.model_dump(mode="json"),
    )
    effect_store.add_effects(connection, [tags], now)
