"""The life of a round: opened, drawn, labeled, closed, corrected, reported."""
