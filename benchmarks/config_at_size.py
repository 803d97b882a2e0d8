"""What it costs to start a command with the config of very many monitors.

    python -m benchmarks config_at_size [--monitors 1000] [--repeats 5]

`status` on a store without rounds, as a process of its own with its bytecode cached: for one
monitor, for so many that stand in the file one by one, and for as many in three blocks. Prints the
median of processor times.
"""

import statistics
import tempfile
from pathlib import Path

from benchmarks.status_at_size import HEAD, MONITOR, Store, measured

STORE = "sqlite:///monitor.db"
BLOCKS = 3
NO_SERVER = Store(STORE, lambda: 0.0)


def main(monitors: int = 1000, repeats: int = 5) -> None:
    """Print a line for each config."""
    configs = {
        "one monitor": _singles(1),
        f"{monitors:,} monitors": _singles(monitors),
        f"{monitors:,} in {BLOCKS} blocks": _blocks(monitors),
    }
    print(f"{'config':<24}{'CPU s':>7}", flush=True)
    for name, text in configs.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "config.yaml"
            path.write_text(text)
            words = ["status", "--config", str(path)]
            runs = [measured(words, NO_SERVER) for _ in range(repeats + 1)][1:]
        print(f"{name:<24}{statistics.median(float(run.split()[0]) for run in runs):>7.2f}")


def _singles(number: int) -> str:
    each = [MONITOR.format(number=place, cron="0 6 * * 1") for place in range(number)]
    return HEAD.format(store=STORE) + "".join(each)


def _blocks(number: int) -> str:
    """Write the same monitors as values of a few blocks, each with a column of scores."""
    text = MONITOR.format(number=0, cron="0 6 * * 1").replace("score: score", 'score: "{column}"')
    text = text.replace("labels/mail-0000", '"labels/{column}"')
    written = HEAD.format(store=STORE)
    for block in range(BLOCKS):
        columns = ", ".join(f"s{place}" for place in range(block, number, BLOCKS))
        head = f'"mail-{{column}}-{block}"\n    for_each: {{column: [{columns}]}}'
        written += text.replace("mail-0000", head, 1)
    return written
