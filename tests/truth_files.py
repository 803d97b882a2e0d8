"""A labeler of truth in files, as a config makes it."""

from monitor.domain.ports import utc_now
from monitor.labeling.column import ColumnLabeler
from monitor.sources.duckdb import truths_in_files


def labeler_of_files(settings, folder, *, clock=utc_now):
    truths = truths_in_files(settings.paths, folder, settings.columns)
    return ColumnLabeler(settings, truths, clock=clock)
