"""What must hold when all is over, whatever happened on the way; each breach is a sentence."""

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from sqlalchemy import text

from monitor.domain.report import EstimateRow, RoundReport
from monitor.domain.slots import slots_between
from monitor.rounds.estimation.batch_estimates import estimated
from monitor.rounds.estimation.reading import read_batch
from monitor.storage.database import Database
from monitor.storage.labels import label_store
from monitor.storage.labels.round_labels import read_labels
from monitor.storage.results import estimate_store, report_store
from monitor.storage.rounds import round_store
from monitor.tracking import values
from monitor.tracking.mlflow import FLEET_KEY, ROUND_KEY


@dataclass(frozen=True)
class SeenRun:
    """A run as MLflow shows it; ``metrics`` maps (name, step) to what is on show there."""

    live: bool
    tags: Mapping[str, str]
    metrics: Mapping[tuple[str, int], float]


@dataclass(frozen=True)
class Outside:
    """All that left the program."""

    runs: Sequence[SeenRun] = ()  # those of MLflow, deleted ones too
    told: Sequence[Mapping[str, Any]] = ()  # what hooks got, in the order of arrival
    tasks: Sequence[str] = ()  # keys of those before people, each as often as it is there
    said: Mapping[str, str] = field(default_factory=dict)  # the last answers, by task key
    texts: Mapping[str, str] = field(default_factory=dict)  # what strangers may read, by place
    secrets: Sequence[str] = ()  # what must stand in none of these


@dataclass(frozen=True)
class Case:
    """The store and the outside, which `CHECKS` look at."""

    database: Database
    outside: Outside
    now: datetime  # slots up to here are due
    repeats: int = 0  # deliveries that may have arrived twice, as those of killed processes may
    accepted: Collection[tuple[str, ...]] = ()  # labels that were stored at some time

    def rows(self, query):
        with self.database.read() as connection:
            return [tuple(row) for row in connection.execute(text(query))]

    def none(self, what, query):
        """Say each row that should not be there."""
        return [f"{what}: {row}" for row in self.rows(query)]


def accepted_labels(database: Database) -> set[tuple[str, ...]]:
    """Read what was stored of people's labels up to now."""
    query = "select labeler, external_id, revision, annotator, kind, answer from label_events"
    with database.read() as connection:
        return {tuple(map(str, row)) for row in connection.execute(text(query))}


def one_round_per_due_slot(case):
    with case.database.read() as connection:
        rounds = round_store.find_rounds(connection)
    found: list[str] = []
    for monitor in {round_.monitor for round_ in rounds}:
        mine = [round_ for round_ in rounds if round_.monitor == monitor]
        schedule = mine[0].settings.schedule
        due = [mine[0].slot, *slots_between(schedule, mine[0].slot, case.now)]
        slots = Counter(round_.slot for round_ in mine)
        found += [f"slot {slot} of {monitor} has {slots[slot]} rounds" for slot in due
                  if slots[slot] != 1]  # fmt: skip
        found += [
            f"round {round_.number} is of no slot" for round_ in mine if round_.slot not in due
        ]
    return found


def rounds_moved_once_and_in_order(case):
    states: dict[int, list[str]] = {}
    found = []
    for round_id, before, after in case.rows(
        "select round_id, before, after from round_events order by id"
    ):
        seen = states.setdefault(round_id, [])
        if before != (seen[-1] if seen else None):
            found.append(f"round {round_id} went from {before} to {after} after {seen}")
        if before != after:
            seen.append(after)
    found += [
        f"round {of} went {seen}" for of, seen in states.items() if len(set(seen)) < len(seen)
    ]
    return found


def one_sample_per_round(case):
    return case.none(
        "a stratum holds other items than were planned",
        "select s.round_id, s.stratum, s.planned, count(i.id) from strata s left join items i"
        " on i.round_id = s.round_id and i.stratum = s.stratum"
        " group by s.round_id, s.stratum, s.planned having count(i.id) <> s.planned",
    ) + case.none(
        "a drawn round has no strata or no items",
        "select id from rounds r where state in ('labeling', 'closed') and not exists"
        " (select 1 from items i where i.round_id = r.id)",
    )


def one_live_task_per_item(case):
    known = dict(case.rows("select key, item_id from tasks"))
    out = Counter(case.outside.tasks)
    found = [f"task {key} is out {count} times" for key, count in out.items() if count > 1]
    found += [f"task {key} is out and unknown to the store" for key in out if key not in known]
    found += [f"task {key} of {known[key]} is not out" for key in known if key not in out]
    return found + case.none(
        "an item has two tasks for one person",
        "select round_id, item_id, slot from tasks group by round_id, item_id, slot"
        " having count(*) > 1",
    )


def no_accepted_label_disappears(case):
    gone = set(case.accepted) - accepted_labels(case.database)
    return [f"a stored label is gone: {each}" for each in sorted(gone)]


def what_people_said_last_counts(case):
    found = []
    with case.database.read() as connection:
        for round_ in round_store.find_rounds(connection):
            labels = label_store.current_labels(connection, round_.id)
            tasks = label_store.all_tasks(connection, [round_.id])
            found += [
                f"{task.item_id} was said to be {said}, and is {labels.get(task.item_id)}"
                for key, task in tasks.items()
                if (said := case.outside.said.get(key)) is not None
                and labels.get(task.item_id) != said
            ]
    return found


def one_estimate_per_version(case):
    versions = {}
    for table in ("counts", "estimates"):
        query = f"select distinct round_id, version from {table} order by round_id, version"
        versions[table] = case.rows(query)
    wanted = [
        (of, version)
        for of, last in case.rows("select id, version from rounds order by id")
        for version in range(1, last + 1)
    ]
    return [
        f"{table} hold versions {found} and not {wanted}"
        for table, found in versions.items()
        if found != wanted
    ]


def counts_are_those_of_the_labels(case):
    found = []
    with case.database.read() as connection:
        closed = [round_ for round_ in round_store.find_rounds(connection) if round_.version]
        stored = estimate_store.read_counts(connection, [this_round.id for this_round in closed])
        for round_ in closed:
            labels = read_labels(connection, round_).counts()
            counted = list(stored[round_.id])
            if counted != labels:
                found.append(f"round {round_.number} counts {counted}, its labels are {labels}")
    return found


def estimates_can_be_computed_again(case):
    """The last version of each round, from the stored counts of its history alone."""
    with case.database.read() as connection:
        closed = {
            round_.id: round_ for round_ in round_store.find_rounds(connection) if round_.version
        }
    first: dict[int | None, Any] = {}
    for round_ in closed.values():
        first.setdefault(round_.history_id, round_)
    parts: Any = SimpleNamespace(database=case.database)
    again = {
        round_id: estimate.rows
        for each in first.values()
        for round_id, estimate in estimated(read_batch(parts, each), each.slot).items()
    }
    found = []
    with case.database.read() as connection:
        for round_ in closed.values():
            rows = estimate_store.read_estimates(connection, round_.id, round_.version)
            report = RoundReport(**report_store.read_report(connection, round_.id, round_.version))
            stored = [
                EstimateRow(**row.model_dump(include=set(EstimateRow.model_fields)))
                for row in again[round_.id]
            ]
            is_same = sorted(stored, key=_place) == sorted(rows, key=_place)
            if not is_same or again[round_.id] != report.estimates:
                found.append(
                    f"round {round_.number} version {round_.version} is not what comes again"
                )
    return found


def _place(row):
    return row.metric, row.estimand, row.basis


def alerts_end_as_their_evidence_says(case):
    """Each closing since a firing takes its step of the formula once, and at 20 the alert ends."""
    found: list[str] = []
    sides: dict[tuple[Any, ...], list[Any]] = {}
    for row in _closings(case):
        sides.setdefault((row.monitor_id, row.metric, row.side), []).append(row)
    ended = {(of, metric, side) for of, metric, side, _ in case.rows(ENDED)}
    for side, rows in sides.items():
        fired: Any = None
        steps: list[float] = []
        for row in rows:
            where = f"round {row.number} on {' '.join(map(str, side))}"
            if not row.is_open:
                fired, steps = (row.slot if row.fires else None), []
                found += [f"{where} recovers from no alert"] * (row.recovery_rounds is not None)
                continue
            if (row.log_recovery is not None) != (fired is not None and row.slot > fired):
                found.append(f"{where} takes a wrong step: {row.log_recovery}, fired {fired}")
            steps += [] if row.log_recovery is None else [row.log_recovery]
            if (row.recovery_rounds, _rounded(row.log_r)) != (len(steps), _rounded(_log_r(steps))):
                found.append(f"{where} has {row.recovery_rounds} steps and log R {row.log_r}")
            ends = row.log_recovery is not None and _log_r(steps) >= math.log(20)
            if ends != ((row.round_id, row.metric, row.side) in ended):
                found.append(
                    f"{where} has log R {_log_r(steps)}, and its alert ended is {not ends}"
                )
    return found


def _closings(case):
    """What each first version said about its limits, in the order of closing."""
    query = (
        "select r.monitor_id, r.number, r.slot, e.round_id, e.metric, e.side, e.fires,"
        " e.log_m is null as is_open, e.log_recovery, e.recovery_rounds, e.log_r from evidence e"
        " join rounds r on r.id = e.round_id where e.version = r.first_version"
        ' order by e."order"'
    )
    with case.database.read() as connection:
        return connection.execute(text(query)).all()


ENDED = (
    "select ended_round_id, metric, side, id from alerts"
    " where state = 'resolved' and ended_why like 'by round %'"
)


LATE_ALERTS = """
with closings as (
    select e.id as place, r.id, r.slot, r.history_id, r.monitor_id from round_events e
    join rounds r on r.id = e.round_id where e.before = 'labeling' and e.after = 'closed'
)
select count(*) from alerts join closings mine on mine.id = alerts.fired_round_id
where exists (select 1 from closings newer where newer.slot > mine.slot
    and newer.place < mine.place and newer.{of} = mine.{of})
"""
"""Counts alerts of rounds that closed after a newer one of the same history, or monitor."""


def _log_r(steps):
    """Log of the sum over k of the product of all factors from the k-th on, times 1/(k(k+1))."""
    terms = [
        sum(steps[place:]) - math.log((place + 1) * (place + 2)) for place in range(len(steps))
    ]
    largest = max(terms, default=-math.inf)
    if not terms:
        return None
    return largest + math.log(sum(math.exp(term - largest) for term in terms))


def _rounded(value):
    return None if value is None else round(value, 6)


def all_effects_are_done(case):
    return case.none(
        "an effect is not done", "select key, status, last_error from effects"
        " where status <> 'done' or claimed_by is not null",
    ) + case.none(
        "a worker that had lost its claim wrote back",
        "select key, attempt, receipt from effects where receipt like 'attempt %'"
        " and receipt <> 'attempt ' || attempt",
    )  # fmt: skip


def one_live_run_per_key(case):
    found = []
    for tag in (ROUND_KEY, FLEET_KEY):
        live = Counter(run.tags[tag] for run in case.outside.runs if run.live and tag in run.tags)
        wanted = {_key(report, tag) for report in _reports(case) if _wants(report, tag)}
        found += [f"{key} has {live[key]} live runs in MLflow" for key in wanted if live[key] != 1]
        found += [f"MLflow has a run of {key}, which is none" for key in live if key not in wanted]
    return found


def runs_show_the_last_version(case):
    found = []
    for report in _reports(case):
        for run in case.outside.runs:
            of_round = run.tags.get(ROUND_KEY) == report.round_key
            of_fleet = run.tags.get(FLEET_KEY) == _key(report, FLEET_KEY)
            if not run.live or not (of_round or (of_fleet and _wants(report, FLEET_KEY))):
                continue
            wanted = values.metrics(report)
            shown = {name: run.metrics.get((name, report.round)) for name in wanted}
            if shown != wanted:
                off = {name: shown[name] for name in wanted if shown[name] != wanted[name]}
                found.append(f"MLflow shows other metrics for round {report.round}: {off}")
            if of_round and run.tags.get("monitor.version") != str(report.version):
                version = run.tags.get("monitor.version")
                found.append(f"MLflow says version {version} of {report.version}")
    return found


def _reports(case):
    """The report of the last version of every round."""
    last: dict[int, RoundReport] = {}
    for round_id, payload in case.rows("select round_id, payload from reports order by version"):
        report = RoundReport.model_validate(
            json.loads(payload) if isinstance(payload, str) else payload
        )
        last[round_id] = report
    return list(last.values())


def _wants(report, tag):
    return tag == ROUND_KEY or report.state == "closed"


def _key(report, tag):
    return report.round_key if tag == ROUND_KEY else f"{report.store_id}/{report.monitor}"


def every_notice_arrives_with_one_id(case):
    ids: dict[str, set[str]] = {}
    for line in case.outside.told:
        ids.setdefault(line["key"], set()).add(line["id"])
    found = [
        f"{key} arrived with several ids: {each}" for key, each in ids.items() if len(each) > 1
    ]
    notices = [key for (key,) in case.rows("select key from effects where kind = 'notice'")]
    found += [f"notice {key} never arrived" for key in notices if key not in ids]
    of_alerts: dict[tuple[str, str], set[str]] = {}
    for line in case.outside.told:
        if line.get("alert"):
            of_alerts.setdefault((line["alert"], line["event"]), set()).add(line["id"])
    found += [f"an alert was told by two ids: {o} {i}" for o, i in of_alerts.items() if len(i) > 1]
    again = len(case.outside.told) - len(ids)
    if again > case.repeats:
        found.append(f"{again} notices arrived again, but only {case.repeats} processes were lost")
    return found


def notices_arrive_in_order(case):
    found = []
    for sink in {line["sink"] for line in case.outside.told}:
        first = list(dict.fromkeys(n["effect"] for n in case.outside.told if n["sink"] == sink))
        if first != sorted(first):
            found.append(f"{sink} got its notices in the order {first}")
    return found


def nothing_is_told_that_must_not_be(case):
    return [
        f"{secret!r} stands in {place}"
        for place, content in case.outside.texts.items()
        for secret in case.outside.secrets
        if secret in content
    ]


CHECKS: tuple[Callable[[Case], list[str]], ...] = (
    one_round_per_due_slot,
    rounds_moved_once_and_in_order,
    one_sample_per_round,
    one_live_task_per_item,
    no_accepted_label_disappears,
    what_people_said_last_counts,
    one_estimate_per_version,
    counts_are_those_of_the_labels,
    estimates_can_be_computed_again,
    alerts_end_as_their_evidence_says,
    all_effects_are_done,
    one_live_run_per_key,
    runs_show_the_last_version,
    every_notice_arrives_with_one_id,
    notices_arrive_in_order,
    nothing_is_told_that_must_not_be,
)
