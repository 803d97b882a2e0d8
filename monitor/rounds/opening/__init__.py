"""Create rounds: opened when due, backfilled, done again, or skipped."""
