"""What a process does whose driver is killed; run by `test_driver`.

``python -m tests.plugins.spark.lost_driver FOLDER``: scans, kills Spark's process, and scans twice
more; prints what came of each as a line of JSON.
"""

import os
import signal
import sys
from pathlib import Path

from tests.plugins.spark.on_cluster import said, tell
from tests.plugins.spark.places import source_of


def children():
    """Find the processes that this one started (Linux): Spark is one of them."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(process) for task in tasks for process in task.read_text().split()]


def main():
    columns = {"id": "id", "time": "at", "score": "score"}
    source = source_of(Path(sys.argv[1]), path="*.parquet", columns=columns)
    tell(said(source))
    [spark] = children()
    os.kill(spark, signal.SIGKILL)
    tell(said(source))
    tell(said(source))


if __name__ == "__main__":
    main()
