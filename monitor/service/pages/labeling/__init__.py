"""The page on which a person labels, item by item."""
