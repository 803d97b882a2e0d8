"""The page on which a person labels, item by item, in a browser on this machine."""
