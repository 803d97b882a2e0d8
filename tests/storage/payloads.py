"""What effects say, as whoever delivers them gets it: a report, or words of their own."""

PAYLOADS = (
    "select coalesce(p.payload, e.payload) as payload from effects e left join reports p"
    " on p.round_id = e.round_id and p.version = e.report_version"
)
REPORTS = f"{PAYLOADS} where e.kind = 'round_run' order by e.id"
"""Reports in the order in which MLflow is told them."""
