"""What a round's process does while workers of its cluster are killed; run by `test_cluster`.

``python -m tests.plugins.spark.on_cluster MASTER FOLDER WORKER``: scans, kills the group of WORKER
once the scan has read a part of the files, and prints what came of each scan as a line of JSON.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from benchmarks.same_sample import EDGES, WINDOW
from monitor.domain.errors import SourceUnavailable
from monitor.plugins.spark.session import session_for
from tests.plugins.spark.places import source_of

CONFIG = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "600m",
    "spark.sql.files.maxPartitionBytes": "100k",
    "spark.sql.files.openCostInBytes": "100k",
    "spark.sql.shuffle.partitions": "2",
}


def asked(master, folder, **changes):
    columns = {"id": "id", "time": "at", "score": "score"}
    given = {"path": "*.parquet", "master": master, "config": CONFIG, "columns": columns}
    return source_of(folder, **given, **changes)


def said(source):
    """Scan, and give what came of it as text."""
    try:
        frame = source.scan(WINDOW, EDGES, 200, "s33d")
    except SourceUnavailable as error:
        return str(error)
    return [[part.size, [each.id for each in part.candidates]] for part in frame.strata]


def part_read(tracker):
    """Count the tasks of the running stage that are done, and those that are not."""
    for stage in tracker.getActiveStageIds():
        info = tracker.getStageInfo(stage)
        if info is not None and info.numCompletedTasks and info.numTasks > 8:
            return info.numCompletedTasks, info.numTasks
    return 0, 0


def tell(result):
    sys.stdout.write(f"{json.dumps(result)}\n")
    sys.stdout.flush()


def main():
    master, folder, worker = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    source = asked(master, folder)
    tracker = session_for(source.settings).sparkContext.statusTracker()
    results = []
    scan = threading.Thread(target=lambda: results.append(said(source)))
    scan.start()
    done = (0, 0)
    while scan.is_alive() and not done[0]:
        done = part_read(tracker)
        time.sleep(0.005)
    os.killpg(worker, signal.SIGKILL)
    assert scan.is_alive()
    scan.join()
    tell({"killed at": done, "drawn": results[0]})
    for line in sys.stdin:  # each asks for one more scan, with a limit of so many seconds
        tell({"drawn": said(asked(master, folder, timeout=f"{line.strip()}s"))})


if __name__ == "__main__":
    main()
