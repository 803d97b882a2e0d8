"""Pages for people in a browser: labeling and status."""
