"""Draw the sample of an open round: check and scan its window, plan, and choose items."""
