"""Label events, the counts that follow from them, and agreement between annotators."""
