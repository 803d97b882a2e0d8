"""The sample of a round: its frame, drawn items and payloads."""
