"""A real classifier on real digits, watched for half a year: see ``play``."""
