"""The report of a round as people see it: its figures, and one HTML file that has all of it."""
