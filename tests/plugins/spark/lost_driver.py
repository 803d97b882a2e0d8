"""What a process does whose driver is killed; run by `test_driver`.

``python -m tests.plugins.spark.lost_driver FOLDER``: scans, kills Spark's process, and scans twice
more; prints what came of each as a line of JSON.
"""

import os
import signal
import sys
from pathlib import Path

from benchmarks.draw_engines import children
from tests.plugins.spark.on_cluster import said, tell
from tests.plugins.spark.places import source_of


def main():
    columns = {"id": "id", "time": "at", "score": "score"}
    source = source_of(Path(sys.argv[1]), path="*.parquet", columns=columns)
    tell(said(source))
    [spark] = children()
    os.kill(int(spark.name), signal.SIGKILL)
    tell(said(source))
    tell(said(source))


if __name__ == "__main__":
    main()
