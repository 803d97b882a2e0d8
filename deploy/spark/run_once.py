"""One pass of pr-monitor in a Spark job, with the session of the job.

    spark-submit --master 'local[1]' deploy/spark/run_once.py --config config.yaml

What stands behind the file's name goes to `pr-monitor run-once`. The job fails with its exit code
unless that is 0. pr-monitor has to be installed where the driver's Python is.
"""

import sys

from pyspark.sql import SparkSession

from monitor.cli import main


def run_once(*arguments: str) -> None:
    """Do all that is due by now, on the session that the job has.

    Raises
    ------
    SystemExit
        With the exit code, unless all is well: Databricks takes even 0 for a failure.
    """
    SparkSession.builder.appName("pr-monitor").getOrCreate()  # which the source then finds
    sys.argv = ["pr-monitor", "run-once", *arguments]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise


if __name__ == "__main__":
    run_once(*sys.argv[1:])
