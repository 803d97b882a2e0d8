"""Tasks out, labels in: from each place where rounds are labeled."""
