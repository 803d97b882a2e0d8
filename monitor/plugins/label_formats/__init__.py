"""Formats of label files for some users: workbooks, and lines of labeling tools."""
