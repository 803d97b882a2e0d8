"""A labeler of truth in files, as a config makes it."""

from monitor.domain.ports import utc_now
from monitor.labeling.column import ColumnLabeler
from monitor.sources.duckdb import TruthFiles


def labeler_of_files(settings, folder, *, clock=utc_now):
    return ColumnLabeler(settings, TruthFiles(settings.paths, folder), clock=clock)
