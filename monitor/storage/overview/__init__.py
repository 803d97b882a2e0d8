"""All monitors at once, in a few queries regardless of their number."""
