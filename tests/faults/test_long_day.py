"""R12: a day of one round a minute, two replicas, one fault in a hundred calls, on one store."""

import json
import random
from contextlib import ExitStack, closing
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from monitor.storage.database import Database
from monitor.tracking.connection import load_mlflow
from tests.faults import day, invariants
from tests.faults.deliveries import all_runs
from tests.faults.invariants import Case, Outside
from tests.faults.outside import wrong_notices, wrong_runs
from tests.faults.proxy import FAULTS, FaultProxy
from tests.hooks.receivers import Receiver
from tests.workers import worker

pytestmark = [pytest.mark.server, pytest.mark.soak]

MINUTES = 24 * 60
FAULTY = 0.01
QUIET_WITHIN = 75  # minutes: no effect waits longer than an hour for its next try
LIVE = "from tests.faults import day; day.live({folder!r}, {seed}); pause('over')"
MB = 2**20


class Day:
    """Two replicas, told by us what time it is; their outside stands behind faulty proxies."""

    def __init__(self, folder, replicas, proxies):
        self.folder = folder
        self.replicas = replicas
        self.proxies = proxies
        self.rss: list[int] = []

    def pass_minute(self, minute, *, mended=False):
        """Let both replicas do the same minute at once."""
        for replica in self.replicas:
            replica.go(json.dumps([minute, mended]))
        said = [json.loads(replica.said.readline() or "null") for replica in self.replicas]
        for replica, found in zip(self.replicas, said, strict=True):
            assert found is not None, replica.errors.read()
        self.rss.append(max(found["rss"] for found in said))
        for proxy in self.proxies:
            proxy.settle()

    def rows(self, query):
        database = Database(f"sqlite:///{self.folder}/monitor.db")
        with closing(database), database.read() as store:
            return [tuple(row) for row in store.execute(text(query))]

    def waiting(self):
        return sum(row[0] for query in WAITING for row in self.rows(query))

    def violations(self, client, hook):
        """What is wrong once nothing waits."""
        with closing(Database(f"sqlite:///{self.folder}/monitor.db")) as database:
            case = Case(database, Outside(), day.BEGIN, repeats=0, accepted=())
            return [
                *self._wrong_rounds(),
                *self._wrong_points(client),
                *wrong_runs(case, client, "day"),
                *wrong_notices(case, hook.got),
                *[found for check in OF_THE_STORE for found in check(case)],
            ]

    def _wrong_rounds(self):
        found = self.rows("select slot, state, partial from rounds order by 1")
        slots = [datetime.fromisoformat(str(row[0])).replace(tzinfo=UTC) for row in found]
        if slots != [day.BEGIN + minute * day.MINUTE for minute in range(len(slots))]:
            yield f"slots are missing or doubled: {len(slots)}"
        if len(slots) < MINUTES:
            yield f"only {len(slots)} rounds"
        for slot, row in zip(slots, found, strict=True):
            if row[1:] != ("closed", 0):
                yield f"round of {slot} is {row[1:]}"
        for row in self.rows(NOT_ONE_ANSWER):
            yield f"an item without one task and one answer: {row}"

    def _wrong_points(self, client):
        fleet = client.get_experiment_by_name("day")
        runs = list(all_runs(client, fleet.experiment_id))
        if len(runs) != 1:
            yield f"{len(runs)} runs of the monitor"
            return
        points = client.get_metric_history(runs[0].info.run_id, "round/labels")
        steps = range(1, len(self.rows("select 1 from rounds")) + 1)
        if {point.step for point in points} != {*steps}:  # corrections add to a step
            yield f"{len(points)} points"


WAITING = (
    "select count(*) from effects where status <> 'done'",
    "select count(*) from rounds where state <> 'closed' or claimed_until >= "
    "cast((julianday('now') - 2440587.5) * 86400000 as integer)",  # a claim left over runs out
)
NOT_ONE_ANSWER = """
select i.round_id, i.id from items i
left join tasks t on t.round_id = i.round_id and t.item_id = i.id
left join label_events e on e.round_id = i.round_id and e.item_id = i.id
group by 1, 2 having count(distinct t.key) <> 1 or count(distinct e.id) <> 1
"""
OF_THE_STORE = (invariants.one_sample_per_round, invariants.all_effects_are_done)


def test_a_day_with_faults_gives_every_round_once_and_memory_stays(tmp_path, mlflow_url):
    with ExitStack() as stack:
        hook = stack.enter_context(Receiver())
        proxies = [
            stack.enter_context(FaultProxy(url, slowness=1.3)) for url in (mlflow_url, hook.root)
        ]
        mlflow, web = (proxy.url for proxy in proxies)
        day.prepare(tmp_path, minutes=MINUTES, spare=QUIET_WITHIN, mlflow=mlflow, hook=web)
        replicas = [
            stack.enter_context(worker(LIVE.format(folder=str(tmp_path), seed=seed)))
            for seed in (1, 2)
        ]
        for seed, proxy in enumerate(proxies):
            proxy.at_random(FAULTY, FAULTS, random.Random(seed))  # noqa: S311
        lived = Day(tmp_path, replicas, proxies)

        for minute in range(MINUTES):
            lived.pass_minute(minute)
        for proxy in proxies:
            proxy.mend()
        for minute in range(MINUTES, MINUTES + QUIET_WITHIN):
            if not lived.waiting():
                break
            lived.pass_minute(minute, mended=True)
        load_mlflow()
        from mlflow import MlflowClient  # noqa: PLC0415

        violations = lived.violations(MlflowClient(mlflow_url), hook)

    quarter, end = (lived.rss[place] // MB for place in (MINUTES // 4, -1))
    assert violations == []
    assert all(proxy.faulted for proxy in proxies)
    assert hook.got
    assert end <= quarter * 1.15
