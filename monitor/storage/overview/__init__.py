"""All monitors at once, in a few queries whatever their number."""
