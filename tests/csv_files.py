"""Label files as tests read and fill them."""

import csv
import io


def read_rows(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def as_csv(rows):
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def write_rows(path, rows):
    path.write_text(as_csv(rows), newline="")
