"""The pages for people in a browser: where they label, and where they look."""
