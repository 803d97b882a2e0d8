"""From labels to estimates, evidence and alerts: computed from one state of the store."""
