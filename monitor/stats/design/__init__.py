"""How many labels to draw, and from which strata."""
