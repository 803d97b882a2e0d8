"""The views: what a person with ``sqlite3`` or ``psql`` looks at first."""

from __future__ import annotations

# A class with a stratum that holds items but no label has no scaled counts: NULL, never a guess.
CONFUSION_MATRICES = """
with cells as (
    select
        c.round_id, c.version, s.flagged, s.size, s.planned, c.labeled, c.positive, c.declined,
        case when c.labeled > 0 then cast(s.size as double precision) * c.positive / c.labeled
             when s.size = 0 then 0 end as scaled_positive,
        case when c.labeled = 0 and s.size > 0 then 1 else 0 end as blank
    from counts c
    join strata s on s.round_id = c.round_id and s.stratum = c.stratum
),
sums as (
    select
        round_id, version,
        sum(case when flagged then positive else 0 end) as tp,
        sum(case when flagged then labeled - positive else 0 end) as fp,
        sum(case when flagged then 0 else positive end) as fn,
        sum(case when flagged then 0 else labeled - positive end) as tn,
        cast(sum(case when flagged then size else 0 end) as bigint) as flagged_size,
        cast(sum(case when flagged then 0 else size end) as bigint) as passed_size,
        sum(case when flagged then scaled_positive else 0 end) as scaled_tp,
        sum(case when flagged then 0 else scaled_positive end) as scaled_fn,
        sum(case when flagged then blank else 0 end) as flagged_blank,
        sum(case when flagged then 0 else blank end) as passed_blank,
        sum(declined) as declined,
        sum(planned - labeled - declined) as unanswered
    from cells
    group by round_id, version
)
select
    m.name as monitor, r.number as round, r.slot, x.version, x.version = r.version as latest,
    x.tp, x.fp, x.fn, x.tn, x.flagged_size, x.passed_size,
    case when flagged_blank = 0 then scaled_tp end as window_tp,
    case when flagged_blank = 0 then flagged_size - scaled_tp end as window_fp,
    case when passed_blank = 0 then scaled_fn end as window_fn,
    case when passed_blank = 0 then passed_size - scaled_fn end as window_tn,
    x.declined, x.unanswered, h.model_version, h.threshold
from sums x
join rounds r on r.id = x.round_id
join monitors m on m.id = r.monitor_id
join histories h on h.id = r.history_id
"""

LATEST_ESTIMATES = """
select
    m.name as monitor, r.number as round, r.slot, e.version, e.metric, e.estimand, e.basis,
    e.point, e.low, e.high, e.level, e.method, e.reason
from estimates e
join rounds r on r.id = e.round_id and r.version = e.version
join monitors m on m.id = r.monitor_id
"""

OPEN_ALERTS = """
select
    m.name as monitor, a.metric, a.side, a."limit", a.fired_at, r.number as fired_in_round
from alerts a
join monitors m on m.id = a.monitor_id
join rounds r on r.id = a.fired_round_id
where a.state = 'firing'
"""

WAITING_EFFECTS = """
with queues as (
    select
        min(id) as head, count(*) as waiting, count(distinct round_id) as rounds,
        min(created_at) as since
    from effects
    where status in ('waiting', 'dead')
    group by monitor_id, sink
)
select
    m.name as monitor, e.sink, q.waiting, q.rounds, q.since, e.next_try, e.tries, e.last_error
from queues q
join effects e on e.id = q.head
join monitors m on m.id = e.monitor_id
"""

VIEWS = {
    "confusion_matrices": CONFUSION_MATRICES,
    "latest_estimates": LATEST_ESTIMATES,
    "open_alerts": OPEN_ALERTS,
    "waiting_effects": WAITING_EFFECTS,
}
