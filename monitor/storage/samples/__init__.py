"""The sample of a round: its frame, drawn items, second wave and payloads."""
