"""What a process does with a Spark Connect server; run by `test_connect`.

``python -m tests.plugins.spark.on_connect REMOTE FOLDER``: draws, reads what people see of the
first items and their truth, asks for a column that is not there, for a scan that cannot end in
time, and for one more; prints what came of each as a line of JSON.
"""

import sys
from pathlib import Path

from benchmarks.same_sample import EDGES, WINDOW
from monitor.domain.errors import MonitorError
from monitor.domain.truth import TruthColumns
from monitor.plugins.spark.session import session_for
from tests.plugins.spark.on_cluster import tell
from tests.plugins.spark.places import source_of
from tests.sources.sql.databases import COLUMNS

ENDLESS = (
    "select cast(id as string) as id, timestamp'2026-03-03 00:00:00Z' as at, 0.6D as score, "
    "'' as text from range(1000000000000)"
)


def source_at(remote, folder, **changes):
    return source_of(folder, remote=remote, master=None, config={}, **changes)


def message_of(source):
    try:
        source.scan(WINDOW, EDGES, 200, "s33d")
    except MonitorError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was refused"


def main():
    remote, folder = sys.argv[1], Path(sys.argv[2])
    source = source_at(remote, folder)
    frame = source.scan(WINDOW, EDGES, 200, "s33d")
    tell([[part.size, [each.id for each in part.candidates]] for part in frame.strata])
    first = [part.candidates[0] for part in frame.strata]
    shown = source.show([each.id for each in first], WINDOW)
    tell([float(shown[each.id]["text"]) == each.score for each in first])
    truths = source.truths(TruthColumns(table="truth", id="id", value="score"))
    tell(sorted(truths.of([each.id for each in first])) == sorted(each.id for each in first))
    tell(message_of(source_at(remote, folder, columns={**COLUMNS, "score": "scores"})))
    session_for(source.settings).sql(ENDLESS).createOrReplaceTempView("endless")
    tell(message_of(source_at(remote, folder, table="endless", timeout="9s")))
    tell(message_of(source))


if __name__ == "__main__":
    main()
