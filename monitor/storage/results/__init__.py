"""Results of a round: estimates, evidence, alerts, reports and restatements."""
