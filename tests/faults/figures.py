"""The table of what the fault tests did, which `docs/reliability.md` shows after `make soak`."""

import time

NAME = "figures"
HEAD = ("test", "what was done", "size", "violations", "minutes")


def teller(node):
    """Return what notes a row of the table with the test's report, whichever process runs it."""
    started = time.monotonic()

    def tell(number, *, what, size, violations=0):
        minutes = f"{(time.monotonic() - started) / 60:.1f}"
        node.user_properties.append((NAME, (number, what, str(size), str(violations), minutes)))

    return tell


def show(terminalreporter):
    reports = [report for several in terminalreporter.stats.values() for report in several]
    calls = [report for report in reports if getattr(report, "when", None) == "call"]
    rows = [tuple(row) for call in calls for name, row in call.user_properties if name == NAME]
    if not rows:
        return
    terminalreporter.section("faults")
    in_order = sorted(rows, key=lambda row: (int(row[0].strip("R")), row[1]))
    for row in (HEAD, ("---",) * len(HEAD), *in_order):
        terminalreporter.write_line(f"| {' | '.join(row)} |")
