"""Judges that are asked: an LLM over HTTP, a model of MLflow, a program."""
