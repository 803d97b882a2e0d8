"""The views, for people with ``sqlite3`` or ``psql`` and for dashboards.

docs/reference/tables.md explains each column. Views show stored data, of the newest version of each
round; they define no rules. Migrations do not create them: all are recreated after an upgrade.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import DDL, Connection, inspect

_EQUAL_COLUMNS = {
    # A class with a stratum that has items but no label has no scaled counts: NULL, no guess.
    "confusion_matrices": """
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
""",
    "latest_estimates": """
select
    m.name as monitor, r.number as round, r.slot, e.version, e.metric, e.estimand, e.basis,
    e.point, e.low, e.high, e.level, e.method, e.reason
from estimates e
join rounds r on r.id = e.round_id and r.version = e.version
join monitors m on m.id = r.monitor_id
""",
    # Evidence is NULL while an alert is open, and before there are earlier rounds to compare with.
    "latest_evidence": """
select
    m.name as monitor, r.number as round, r.slot, e.version, e.metric, e.side, e."limit",
    e.log_evidence, e.log_threshold, e.log_evidence / nullif(e.log_threshold, 0) as share
from evidence e
join rounds r on r.id = e.round_id and r.version = e.version
join monitors m on m.id = r.monitor_id
""",
    "open_alerts": """
select
    m.name as monitor, a.metric, a.side, a."limit", a.fired_at, r.number as fired_in_round
from alerts a
join monitors m on m.id = a.monitor_id
join rounds r on r.id = a.fired_round_id
where a.state = 'firing'
""",
    "waiting_effects": """
with queues as (
    select
        min(id) as head, count(*) as waiting, count(distinct round_id) as rounds,
        min(created_at) as since
    from effects
    where status in ('waiting', 'dead')
    group by monitor_id, sink
)
select
    m.name as monitor, e.sink, q.waiting, q.rounds, q.since, e.next_try, e.tries, e.last_error,
    e.status = 'dead' as dead
from queues q
join effects e on e.id = q.head
join monitors m on m.id = e.monitor_id
""",
    # An item is answered while the latest word of one of its annotators is an answer.
    "waiting_rounds": """
select
    m.name as monitor, r.number as round, r.slot, r.state, r.opened_at as since, r.deadline,
    (
        select cast(sum(s.planned) as bigint) from strata s where s.round_id = r.id
    ) as wanted,
    (
        select count(distinct e.item_id)
        from label_events e
        where e.round_id = r.id and e.kind = 'given'
        and exists (
            select 1 from tasks t where t.round_id = e.round_id and t.item_id = e.item_id
        )
        and not exists (
            select 1 from label_events later
            where later.round_id = e.round_id and later.item_id = e.item_id
            and later.annotator = e.annotator and later.at > e.at
        )
    ) as answered,
    r.reason
from rounds r
join monitors m on m.id = r.monitor_id
where r.state in ('open', 'labeling')
""",
}

ROUND_RESULTS = """
select
    m.name as monitor, r.number as round, r.slot, r.window_start, r.window_end, r.state,
    case when r.version >= r.first_version then r.version end as version, r.partial,
    h.model_version, h.threshold,
    case when r.state in ('closed', 'abandoned') then {status} end as status,
    {points},
    {limits},
    (select cast(sum(s.size) as bigint) from strata s where s.round_id = r.id) as size,
    (
        select cast(sum(case when s.flagged then s.size else 0 end) as bigint)
        from strata s where s.round_id = r.id
    ) as flagged,
    (
        select cast(sum(case when s.flagged then s.size else 0 end) as double precision)
            / nullif(sum(s.size), 0)
        from strata s where s.round_id = r.id
    ) as flagged_rate,
    (select cast(sum(s.planned) as bigint) from strata s where s.round_id = r.id) as planned,
    (
        select cast(sum(c.labeled) as bigint)
        from counts c where c.round_id = r.id and c.version = r.version
    ) as labeled,
    (
        select cast(sum(c.declined) as bigint)
        from counts c where c.round_id = r.id and c.version = r.version
    ) as declined,
    (
        select cast(sum(s.planned - c.labeled - c.declined) as bigint)
        from counts c
        join strata s on s.round_id = c.round_id and s.stratum = c.stratum
        where c.round_id = r.id and c.version = r.version
    ) as unanswered,
    r.opened_at, r.closed_at,
    {hours},
    (
        select e.receipt
        from effects e
        where e.round_id = r.id and e.kind = 'round_run'
        and substr(e.receipt, 1, 12) = 'experiments/'
        order by e.id desc limit 1
    ) as mlflow_run
from rounds r
join monitors m on m.id = r.monitor_id
left join histories h on h.id = r.history_id
{joins}
"""

# Rounds in the future, which a wrong clock opened, are not the newest.
MONITOR_STATUS = """
with ends as (
    select
        m.id, m.name,
        (
            select r.id from rounds r
            where r.monitor_id = m.id and r.slot <= current_timestamp
            order by r.slot desc limit 1
        ) as newest,
        (
            select r.id from rounds r
            where r.monitor_id = m.id and r.slot <= current_timestamp
            and r.state in ('closed', 'abandoned')
            order by r.slot desc limit 1
        ) as reported,
        (
            select r.id from rounds r
            where r.monitor_id = m.id and r.slot <= current_timestamp and r.state = 'closed'
            order by r.slot desc limit 1
        ) as estimated
    from monitors m
)
select
    ends.name as monitor,
    {status} as status,
    (
        select count(*) from alerts a where a.monitor_id = ends.id and a.state = 'firing'
    ) as open_alerts,
    (
        select min(a.fired_at) from alerts a where a.monitor_id = ends.id and a.state = 'firing'
    ) as alert_since,
    r.number as reported_round, r.slot as reported_slot,
    {sentence} as sentence,
    c.number as estimated_round, c.slot as estimated_slot,
    {points},
    {limits},
    newest.number as newest_round, newest.slot as newest_slot, newest.state as newest_state
from ends
left join rounds r on r.id = ends.reported
left join rounds c on c.id = ends.estimated
left join rounds newest on newest.id = ends.newest
{joins}
"""

# Contents of the newest version's report, one row for each entry of a list or for a part.
OF_REPORT = """
select m.name as monitor, r.number as round, r.slot, p.version, {columns}
from reports p
join rounds r on r.id = p.round_id and r.version = p.version
join monitors m on m.id = r.monitor_id
{rest}
"""

_LIMITED = ("precision", "recall")
_ESTIMAND = {"round": "window", "pooled": "rate"}
_SEPARATOR = ",\n    "
_INTERVAL = ("point", "low", "high")
_SEGMENT_COLUMNS = {
    **dict.fromkeys(("segment", "value", "metric"), "text"),
    **dict.fromkeys(("size", "flagged", "labeled"), "bigint"),
    **dict.fromkeys((*_INTERVAL, *(f"alone_{end}" for end in _INTERVAL)), "double precision"),
    "reason": "text",
    "margin": "double precision",
    **dict.fromkeys(("more_round", "more_segment"), "bigint"),
}
_AGREEMENT_COLUMNS = {
    **dict.fromkeys(("items", "disagreed", "annotators"), "bigint"),
    **{
        f"{of}{end}": "double precision"
        for of in ("disagreement", "kappa", "alpha")
        for end in ("", "_low", "_high")
    },
}
_SHOWN = [(metric, basis) for metric in (*_LIMITED, "prevalence") for basis in _ESTIMAND]
_HOURS = ("half_hours", "most_hours", "last_hours")

# Each join uses the whole key, so that a database can omit joins of unused columns.
_ESTIMATE = """\
left join estimates {metric}_{basis}
    on {metric}_{basis}.round_id = {of}.id and {metric}_{basis}.version = {of}.version
    and {metric}_{basis}.metric = '{metric}' and {metric}_{basis}.basis = '{basis}'
    and {metric}_{basis}.estimand = '{estimand}'"""
_EVIDENCE = """\
left join evidence {metric}_watch
    on {metric}_watch.round_id = {of}.id and {metric}_watch.version = {of}.version
    and {metric}_watch.metric = '{metric}' and {metric}_watch.side = 'at_least'"""
_POINT = """\
{metric}_{basis}.point as {metric}_{basis}_point,
    {metric}_{basis}.low as {metric}_{basis}_low,
    {metric}_{basis}.high as {metric}_{basis}_high"""
_LIMIT = """\
{metric}_watch."limit" as {metric}_limit,
    {metric}_watch.log_evidence / nullif({metric}_watch.log_threshold, 0) as {metric}_evidence"""
_REPORTED = """\
(
        select {text}
        from reports p where p.round_id = r.id order by p.version desc limit 1
    )"""


def _estimate_parts(of: str, shown: Sequence[tuple[str, str]]) -> dict[str, str]:
    estimates = [
        _ESTIMATE.format(of=of, metric=metric, basis=basis, estimand=_ESTIMAND[basis])
        for metric, basis in shown
    ]
    evidence = [_EVIDENCE.format(of=of, metric=metric) for metric in _LIMITED]
    points = [_POINT.format(metric=metric, basis=basis) for metric, basis in shown]
    return {
        "points": _SEPARATOR.join(points),
        "limits": _SEPARATOR.join(_LIMIT.format(metric=metric) for metric in _LIMITED),
        "joins": "\n".join([*estimates, *evidence]),
    }


def _reported(dialect: str, *path: str) -> str:
    return _REPORTED.format(text=_json_text(dialect, "p.payload", path))


def _round_results(dialect: str) -> str:
    hours = [
        f"case when r.state = 'closed' then "
        f"cast({_reported(dialect, 'answers', name)} as double precision) end as {name}"
        for name in _HOURS
    ]
    return ROUND_RESULTS.format(
        status=_reported(dialect, "status"),
        hours=_SEPARATOR.join(hours),
        **_estimate_parts("r", _SHOWN),
    )


def _monitor_status(dialect: str) -> str:
    return MONITOR_STATUS.format(
        status=_reported(dialect, "status"),
        sentence=_reported(dialect, "sentence"),
        **_estimate_parts("c", [(metric, "pooled") for metric in _LIMITED]),
    )


def _segments(dialect: str) -> str:
    entries = {
        "sqlite": "cross join json_each(p.payload, '$.segments') x",
        "postgresql": "cross join lateral json_array_elements(p.payload -> 'segments') x",
    }
    columns = _json_columns(dialect, "x.value", [], _SEGMENT_COLUMNS)
    return OF_REPORT.format(columns=columns, rest=entries[dialect])


def _agreement(dialect: str) -> str:
    part = ["agreement"]
    columns = _json_columns(dialect, "p.payload", part, _AGREEMENT_COLUMNS)
    has_items = f"where {_json_text(dialect, 'p.payload', [*part, 'items'])} is not null"
    return OF_REPORT.format(columns=columns, rest=has_items)


def _json_columns(dialect: str, value: str, path: Sequence[str], kinds: Mapping[str, str]) -> str:
    """Return columns that extract fields of a JSON value; in SQLite they keep the JSON type."""
    columns = {name: _json_text(dialect, value, [*path, name]) for name in kinds}
    if dialect != "sqlite":
        columns = {name: f"cast({columns[name]} as {kind})" for name, kind in kinds.items()}
    return _SEPARATOR.join(f"{text} as {name}" for name, text in columns.items())


def _json_text(dialect: str, value: str, path: Sequence[str]) -> str:
    if dialect == "sqlite":
        return f"json_extract({value}, '$.{'.'.join(path)}')"
    return f"{value} #>> '{{{','.join(path)}}}'"


_BY_DIALECT = {
    "agreement": _agreement,
    "monitor_status": _monitor_status,
    "round_results": _round_results,
    "segments": _segments,
}
NAMES = (*_EQUAL_COLUMNS, *_BY_DIALECT)
"""All views; readers of dashboards get access to these only."""


def queries(dialect: str) -> dict[str, str]:
    """Return the query of each view; ``sqlite`` and ``postgresql`` differ in how they read JSON."""
    return _EQUAL_COLUMNS | {name: written(dialect) for name, written in _BY_DIALECT.items()}


def drop_all(connection: Connection) -> None:
    """Drop the views of this and older versions, so that migrations can change tables."""
    for name in sorted(set(inspect(connection).get_view_names()) & {*NAMES}):
        connection.execute(DDL("drop view %(name)s", context={"name": name}))  # type: ignore[no-untyped-call]


def create_all(connection: Connection) -> None:
    """Create all views over the tables of this version."""
    for name, query in queries(connection.dialect.name).items():
        view = {"name": name, "query": query}
        connection.execute(DDL("create view %(name)s as %(query)s", context=view))  # type: ignore[no-untyped-call]
