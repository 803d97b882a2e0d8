"""From an open round to its sample: whether the window looks right, the scan, the plan."""
