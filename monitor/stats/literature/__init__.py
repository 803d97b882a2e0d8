"""Methods of papers as printed, for people who must reproduce them."""
