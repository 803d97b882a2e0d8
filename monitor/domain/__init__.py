"""The words of the product as types: pure, no database, no network, no MLflow."""
