"""A life that ends at a crash point, run as `python -m tests.plugins.judges.killed`."""

import os
import signal
import sys
import threading
from pathlib import Path

from monitor.domain import crashpoint
from monitor.storage.database import Database
from tests.plugins.judges.asking import asking, http_settings


def main(store, folder, url, point, number):
    lock, left = threading.Lock(), [number]

    def hook(name):
        with lock:
            left[0] -= name == point
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    scene = asking(Database(store), http_settings(folder, url, budget={"calls": 100}))
    crashpoint.hook = hook
    scene.run(1)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]))
