"""Which rounds there are: opened when due, backfilled, redone, skipped."""
