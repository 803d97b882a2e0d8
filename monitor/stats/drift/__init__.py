"""Changes that need no limit: of the population, of prevalence, of rare events."""
