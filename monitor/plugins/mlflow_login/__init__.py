"""Sign in to the pages with the accounts of an MLflow server."""
